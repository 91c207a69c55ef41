#include "obol/method/ldp_wgan/method.h"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/base/file.h"
#include "obol/method/fit.h"
#include "obol/method/ldp_wgan/entry.h"
#include "obol/method/ldp_wgan/method.h"
#include "obol/model/generator_file.h"

namespace obol::method::ldp_wgan {
namespace {

using torch::Tensor;

constexpr data::ImageShape kShape{.channels = 1, .height = 28, .width = 28};
constexpr double kSigma = 0.5;

// Pictures of 28 x 28, dark but for one of two bright bands.
Tensor bands(std::int64_t count) {
  Tensor images = torch::full({count, 28, 28}, 0.1);
  images.slice(0, 0, count / 2).slice(1, 4, 10).fill_(0.9);
  images.slice(0, count / 2).slice(1, 18, 24).fill_(0.9);
  return images.flatten(1);
}

local::Privatized privatized(const Tensor& noisy) {
  local::Privatized data;
  data.how = {.mechanism = local::Mechanism::kGaussian,
              .scale = kSigma,
              .radius = 20,
              .sensitivity = 40,
              .shape = kShape,
              .events = {{.purpose = local::kRecordsPurpose,
                          .event = privacy::LocalGaussian{kSigma / 40, 1}}},
              .delta = 1e-5,
              .class_names = {},
              .randomness = "test",
              .fingerprint = "test",
              .denoised = {}};
  data.records.assign(noisy.data_ptr<float>(), noisy.data_ptr<float>() + noisy.numel());
  return data;
}

Options some_options() {
  Options options;
  options.generator.width = 8;
  options.generator.latent = 4;
  options.optimizer.learning_rate = 5e-3;
  options.method.batch = 50;
  options.method.epochs = 10;
  options.method.iterations = 50;
  options.method.warm_start = true;
  options.method.tolerance = 1e-3;
  options.method.critic_width = 4;
  return options;
}

class Method : public testing::Test {
 protected:
  Method() {
    torch::manual_seed(1);
    clean = bands(400);
    data = privatized((clean + kSigma * torch::randn_like(clean)).contiguous());
  }
  Tensor clean;
  local::Privatized data;
  run::UnsafeDiagnostics nothing;
};

// The images of the generator, [count, 784].
Tensor made_by(LdpWgan& method, std::int64_t count) {
  TemporaryFolder folder;
  write_file(folder.path() / "generator.safetensors", method.generator());
  const auto generator = model::load_generator(folder.path() / "generator.safetensors");
  SeededBits bits(9);
  const torch::NoGradGuard no_grad;
  return generator->forward(generator->latents(count, bits), torch::zeros({count}, torch::kLong))
      .flatten(1);
}

// How far images are from the nearest of the two clean ones, a pixel: root of the mean square.
double blemish(const Tensor& images, const Tensor& clean) {
  const Tensor apart = torch::cdist(images, torch::stack({clean[0], clean[-1]}));
  return std::sqrt(std::get<0>(apart.min(1)).square().mean().item<double>() / 784);
}

TEST_F(Method, LearnsImagesThatItNeverSaw) {
  for (const std::string loss : {"entropic", "divergence", "wasserstein", "critic"}) {
    torch::manual_seed(2);
    SeededBits bits(1);
    Options options = some_options();
    options.method.loss = loss;
    LdpWgan method(options, data, {.bits = bits});
    const std::int64_t steps = loss == "entropic" ? steps_of(options.method, 400) : 2;
    EXPECT_EQ(steps_of(options.method, 400), 80);
    for (std::int64_t step = 1; step <= steps; ++step) method.step(step, nothing);
    const Tensor made = made_by(method, 100);
    ASSERT_TRUE(made.isfinite().all().item<bool>()) << loss;
    if (loss != "entropic") continue;
    EXPECT_LT(blemish(made, clean), 0.2);
    EXPECT_GT(blemish(torch::rand_like(made), clean), 0.3);
    // Of both kinds.
    const double upper =
        made.slice(1, 4 * 28, 10 * 28).mean(1).gt(0.5).to(torch::kDouble).mean().item<double>();
    EXPECT_GT(upper, 0.2);
    EXPECT_LT(upper, 0.8);
  }
}

// torch writes an optimiser in no fixed order: it is looked at by what it does next.
bool agree(LdpWgan& a, LdpWgan& b) {
  run::Sections of_a = a.save();
  run::Sections of_b = b.save();
  of_a.erase("optimizer");
  of_b.erase("optimizer");
  of_a.erase("generator");
  of_b.erase("generator");
  return of_a == of_b && torch::equal(made_by(a, 5), made_by(b, 5));
}

TEST_F(Method, IsTheSameFromACheckpoint) {
  for (const std::string loss : {"entropic", "critic"}) {
    SeededBits bits(1);
    SeededBits others(2);
    Options options = some_options();
    options.method.loss = loss;
    LdpWgan first(options, data, {.bits = bits});
    for (std::int64_t step = 1; step <= 3; ++step) first.step(step, nothing);
    const run::Sections saved = first.save();
    LdpWgan second(options, data, {.bits = others});
    EXPECT_FALSE(agree(first, second));
    second.load(saved);
    EXPECT_TRUE(agree(first, second));
    // And goes on in the same order: with the same randomness, to the same place.
    SeededBits one(3);
    SeededBits same(3);
    LdpWgan a(options, data, {.bits = one});
    LdpWgan b(options, data, {.bits = same});
    a.load(saved);
    b.load(saved);
    torch::manual_seed(4);
    a.step(4, nothing);
    torch::manual_seed(4);
    b.step(4, nothing);
    EXPECT_TRUE(agree(a, b));
    EXPECT_FALSE(agree(a, second));
  }
}

TEST_F(Method, TransformedRecordsAreLearntInTheirOwnSpace) {
  const Features transform = cosine_transform(kShape, torch::kCPU);
  const Tensor coefficients = transform(clean);
  data = privatized((coefficients + kSigma * torch::randn_like(coefficients)).contiguous());
  data.how.transform = local::Transform::kDct;
  torch::manual_seed(2);
  SeededBits bits(1);
  const Options options = some_options();
  LdpWgan method(options, data, {.bits = bits});
  for (std::int64_t step = 1; step <= 80; ++step) method.step(step, nothing);
  EXPECT_LT(blemish(made_by(method, 100), clean), 0.2);
}

TEST(ClassShares, UndoWhatRandomisedResponseDidOnAverage) {
  // Of three classes with shares 0.5, 0.3, 0.2 and epsilon log 4: a label is kept with 4/6.
  const double epsilon = std::log(4);
  std::vector<std::int64_t> labels;
  const std::vector<double> shares{0.5, 0.3, 0.2};
  for (std::int64_t k = 0; k < 3; ++k) {
    const double seen = 1.0 / 6 + 0.5 * shares[static_cast<std::size_t>(k)];
    labels.insert(labels.end(), static_cast<std::size_t>(std::lround(6000 * seen)), k);
  }
  const Tensor found = class_shares(torch::tensor(labels), 3, epsilon);
  for (std::int64_t k = 0; k < 3; ++k)
    EXPECT_NEAR(found[k].item<double>(), shares[static_cast<std::size_t>(k)], 1e-3);
}

TEST_F(Method, RefusesWhatDoesNotGoTogether) {
  Options options = some_options();
  options.method.batch = 401;
  EXPECT_THROW(check(options, data.how, 400), InvalidArgument);
  options = some_options();
  options.method.loss = "wasserstein";
  options.method.regularization = 1;
  EXPECT_THROW(check(options, data.how, 400), InvalidArgument);
  options = some_options();
  data.how.shape = {.channels = 1, .height = 27, .width = 27};
  EXPECT_THROW(check(options, data.how, 400), InvalidArgument);
}

TEST_F(Method, AFitSaysWhatTheRecordsCostOnce) {
  TemporaryFolder folder;
  Experiment experiment;
  const Options options = some_options();
  MethodOptions section = options.method;
  section.epochs = 1;
  section.seed = 1;
  experiment.method = {.options = section, .seed = 1};
  experiment.generator = options.generator;
  experiment.optimizer = options.optimizer;
  experiment.resolved = "[method]\n";
  experiment.places = [](const std::string&) { return std::string("recipe"); };
  const Path run = folder.path() / "run";
  const run::Outcome outcome = Entry::fit(experiment, data, {.folder = run});
  EXPECT_EQ(outcome.steps, 8);
  const auto spent = [&] { return privacy::read_ledger(run / "ledger.jsonl").spent(); };
  ASSERT_EQ(spent().size(), 1U);
  EXPECT_EQ(privacy::count_of(spent()[0]), 1);
  EXPECT_EQ(privacy::name_of(spent()[0]), "LocalGaussian");
  const double epsilon =
      privacy::account({privacy::LocalGaussian{kSigma / 40, 1}}, Delta{1e-5}).epsilon;
  EXPECT_NEAR(*outcome.epsilon, epsilon, 1e-6 * epsilon);
  EXPECT_NEAR(privacy::verify_certificate(run).guarantee.epsilon, epsilon, 1e-6 * epsilon);
  // No certificate lies beside these records.
  EXPECT_EQ(privacy::read_ledger(run / "ledger.jsonl").entries[0].purpose, "records, not checked");
  // Records that are marked as not private make a run that is none.
  local::Privatized denoised = data;
  denoised.how.denoised = "haar, 3 levels, threshold 1 (oracle: chosen on clean data, not private)";
  Entry::fit(experiment, denoised, {.folder = folder.path() / "denoised"});
  EXPECT_FALSE(privacy::verify_certificate(folder.path() / "denoised").is_private());
  // Going on costs nothing more; other records are refused.
  Entry::fit(experiment, data, {.folder = run, .resume = true});
  EXPECT_EQ(privacy::count_of(spent()[0]), 1);
  data.how.fingerprint = "another";
  EXPECT_THROW(Entry::fit(experiment, data, {.folder = run, .resume = true}), DataError);
  experiment.privacy.barrier = Barrier::kRow;
  EXPECT_THROW(Entry::fit(experiment, data, {.folder = folder.path() / "other"}), InvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "other"));
}

}  // namespace
}  // namespace obol::method::ldp_wgan
