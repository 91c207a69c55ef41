#include "obol/method/summit/method.h"

#include <cmath>
#include <cstdint>
#include <functional>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "obol/barrier/outer.h"
#include "obol/barrier/purposes.h"
#include "obol/base/error.h"
#include "obol/base/file.h"
#include "obol/features/scattering.h"
#include "obol/method/halves_testing.h"
#include "obol/method/state.h"
#include "obol/method/summit/entry.h"
#include "obol/model/generator_file.h"
#include "obol/model/sample.h"
#include "obol/model/scattering_classifier.h"
#include "obol/privacy/accountant.h"
#include "obol/privacy/ledger.h"

namespace obol::method::summit {
namespace {

using method::testing::halves;
using torch::Tensor;

Options some_options() {
  Options options{.method = {}, .optimizer = {}, .generator = {}};
  options.method.frequencies = 200;
  options.method.frequency = "0.2,0.5";
  options.method.feature_bound = 20;
  options.method.batch = 20;
  options.method.steps = 60;
  options.method.teacher_steps = 20;
  options.method.teacher_rate = 0.5;
  options.method.transport_share = 0.2;
  options.method.second_batch = 20;
  options.method.clip_norm = 4;
  options.method.regularization = 4;
  options.moments_noise = 0.5;
  options.teacher_noise = 1.5;
  options.transport_noise = 2;
  options.sampling_rate = 0.3;
  options.generated_batch = 10;
  options.transport_steps = 10;
  options.histogram_noise = 5;
  options.generator.width = 4;
  options.generator.latent = 2;
  options.generator.output = "sigmoid";
  options.optimizer.learning_rate = 1e-2;
  return options;
}

class SummitTest : public ::testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(1); }

  Summit make(const Options& options, RandomBits& of) {
    return {options, data, {.door = &door, .bits = of}};
  }

  TemporaryFolder folder;
  privacy::Ledger ledger = privacy::Ledger::create(folder.path() / "ledger.jsonl",
                                                   {.neighbours = privacy::Neighbours::kAddRemove,
                                                    .records = 400,
                                                    .fingerprint = "test",
                                                    .randomness = "test"});
  privacy::BudgetGuard guard{ledger, std::nullopt, {.block = 1}};
  SeededBits bits{7};
  barrier::Door door{guard, bits};
  Private<data::Dataset> data = halves(400);
  run::UnsafeDiagnostics nothing;
};

TEST_F(SummitTest, PaysForEachSignalAndNothingElse) {
  const Options options = some_options();
  Summit method = make(options, bits);
  method.start();
  for (std::int64_t step = 1; step <= options.total_steps(); ++step) method.step(step, nothing);
  guard.settle();
  const privacy::LedgerRecord& record = ledger.record();
  EXPECT_EQ(record.paid(kMoments, privacy::Gaussian{.noise_multiplier = 0.5, .count = 1}), 1);
  EXPECT_EQ(record.paid(kTeacher,
                        privacy::SampledGaussian{
                            .sampling_rate = 0.5, .noise_multiplier = 1.5, .count = 1}),
            20);
  EXPECT_EQ(record.paid(
                barrier::kTraining,
                privacy::SampledGaussian{.sampling_rate = 0.3, .noise_multiplier = 2, .count = 1}),
            10);
  EXPECT_EQ(record.paid(barrier::kHistogram, privacy::Gaussian{.noise_multiplier = 5, .count = 1}),
            1);
  double events = 0;
  for (const privacy::Event& event : ledger.spent()) events += static_cast<double>(count_of(event));
  EXPECT_EQ(events, 32);
}

// Each signal alone, but for the teacher, which knows classes and not what images look like.
TEST_F(SummitTest, LearnsWhichHalfIsBright) {
  for (const bool with_transport : {false, true}) {
    Options options = some_options();
    options.method.steps = 150;
    if (with_transport) {
      options.method.moments_share = 0;
      options.method.teacher_share = 0;
      options.transport_steps = 150;
    } else {
      options.method.transport_share = 0;
    }
    Summit method = make(options, bits);
    method.start();
    for (std::int64_t step = 1; step <= options.total_steps(); ++step) method.step(step, nothing);
    const auto generator = method.released();
    const torch::NoGradGuard no_grad;
    for (std::int64_t label = 0; label < 2; ++label) {
      const Tensor images =
          generator->forward(generator->latents(20, bits), torch::full({20}, label, torch::kLong));
      const double upper = images.slice(2, 0, 14).mean().item<double>();
      const double lower = images.slice(2, 14).mean().item<double>();
      EXPECT_GT((label == 0 ? upper - lower : lower - upper), 0.3) << label << with_transport;
    }
  }
}

// Of what a run leaves: the generator's and the teacher's file.
data::Dataset relabelled(Summit& method, const Path& folder) {
  write_file(folder / "generator.safetensors", method.generator());
  write_file(folder / "teacher.safetensors", method.teacher().value());
  const auto generator = model::load_generator(folder / "generator.safetensors");
  const auto teacher = model::load_scattering_classifier(folder / "teacher.safetensors");
  return model::sample(*generator, {.count = 60, .seed = 3, .teacher = &teacher});
}

TEST_F(SummitTest, LeavesATeacherThatTellsTheHalvesApart) {
  Options options = some_options();
  options.method.transport_share = 0;
  Summit method = make(options, bits);
  method.start();
  EXPECT_FALSE(method.teacher().has_value()) << "it has not learnt anything";
  for (std::int64_t step = 1; step <= options.total_steps(); ++step) method.step(step, nothing);
  const data::Dataset samples = relabelled(method, folder.path());
  const auto teacher = model::load_scattering_classifier(folder.path() / "teacher.safetensors");
  // Recomputed from the bytes that were kept.
  const auto& bytes = std::get<data::PixelBytes>(samples.pixels);
  const std::vector<std::uint8_t> kept(bytes.begin(), bytes.end());
  const Tensor images = torch::tensor(kept, torch::kByte).view({60, 1, 28, 28});
  const Tensor scattered =
      features::Scattering({1, 28, 28}, {.order = 2})(images.to(torch::kFloat) / 255);
  EXPECT_TRUE(
      torch::tensor(samples.labels, torch::kLong).equal(teacher.logits(scattered).argmax(1)));
  Tensor pure = torch::full({2, 1, 28, 28}, 20, torch::kByte);  // as the records are
  pure[0].narrow(1, 0, 14).fill_(230);
  pure[1].narrow(1, 14, 14).fill_(230);
  EXPECT_TRUE(teacher.labels(pure).equal(torch::arange(2)));
}

TEST_F(SummitTest, LeavesNoTeacherWhereSamplesKeepTheirLabels) {
  for (const bool has_teacher : {true, false}) {
    Options options = some_options();
    options.method.relabel = !has_teacher;
    options.method.teacher_share = has_teacher ? 0.3 : 0;
    options.method.transport_share = 0;
    options.method.steps = 1;
    Summit method = make(options, bits);
    method.start();
    for (std::int64_t step = 1; step <= options.total_steps(); ++step) method.step(step, nothing);
    EXPECT_FALSE(method.teacher().has_value()) << has_teacher;
  }
}

// Interrupted in the teacher's steps, between its steps and transport, and in transport.
TEST_F(SummitTest, GoesOnFromACheckpointAsItWouldHave) {
  const Options options = some_options();
  for (const std::int64_t at : {7, 40, 75}) {
    Summit first = make(options, bits);
    first.start();
    for (std::int64_t step = 1; step <= at; ++step) first.step(step, nothing);
    const run::Sections saved = first.save();
    SeededBits one(5);
    SeededBits other(5);
    SeededBits noise(6);
    SeededBits same_noise(6);
    barrier::Door door_of_one(guard, noise);
    barrier::Door door_of_other(guard, same_noise);
    Summit on(options, data, {.door = &door_of_one, .bits = one});
    Summit again(options, data, {.door = &door_of_other, .bits = other});
    on.load(saved);
    again.load(saved);
    for (std::int64_t step = at + 1; step <= at + 3; ++step) {
      on.step(step, nothing);
      again.step(step, nothing);
    }
    const run::Sections after = on.save();
    EXPECT_TRUE(after == again.save()) << at;
    EXPECT_EQ(on.teacher(), again.teacher());
    EXPECT_EQ(on.teacher().has_value(), at > 7) << "its second half begins with step 11";
    EXPECT_FALSE(after == saved) << at;
  }
}

TEST(ReleasedMeansOf, AreSumsOverNoisyCounts) {
  const Tensor means = torch::tensor({{0.75, 0.8}, {-0.5, 1.0}}, torch::kDouble);
  const Tensor counts = torch::tensor({{5000.0}, {50.0}}, torch::kDouble);
  const Tensor sums = torch::cat({means * counts * std::sqrt(0.99 / 2), counts * 0.1}, 1);
  EXPECT_TRUE(torch::allclose(means_of(sums, 2, 1), means, 1e-12));
  // With a noise of 10 on the sums a count is known to 100: 50 count as 200, which shrinks them.
  EXPECT_NEAR(means_of(sums, 2, 10)[1][1].item<double>(), 0.25, 1e-12);
}

// With hardly any noise, what is released is what the records' own embeddings have as their means.
TEST_F(SummitTest, ReleasesTheMeansOfWhatGeneratedImagesAreEmbeddedIn) {
  for (const std::int64_t patches : {0, 4}) {
    MomentsOptions options = some_options().method;
    options.feature_bound = 40;  // no record's scattering is longer
    options.patches = patches;
    options.patch_weight = 50;  // unlike the others
    const data::ImageShape shape{.channels = 1, .height = 28, .width = 28};
    const features::Scattering scattering(shape, {.order = 1});
    Moments moments(options, shape, scattering, 2, torch::kCPU);
    const barrier::PrivateRecords records(data, {.device = torch::kCPU, .lowest = 0});
    moments.release(door, records, 1e-4);
    run::Sections sections;
    moments.save(sections);
    Tensor targets = torch::zeros(
        {2,
         moments.embed(torch::zeros({1, 784}), torch::zeros({1, scattering.dimension()})).size(1)});
    restore(sections, "moments", targets);
    for (std::int64_t label = 0; label < 2; ++label) {
      Tensor of_class = torch::full({1, 784}, 20.0F / 255);  // as halves() makes them
      of_class.narrow(1, label * 392, 392).fill_(230.0F / 255);
      const Tensor mean = moments.embed(of_class, scattering(of_class).flatten(1)).mean(0);
      EXPECT_LT((targets[label] - mean).abs().max().item<double>(), 0.05) << patches << label;
      EXPECT_GT(mean.abs().max().item<double>(), 1);
    }
  }
}

// Where the batch has the target as its mean, one half alone does not: the loss must not reward a
// batch for its own mean.
constexpr data::ImageShape kTiny{.channels = 1, .height = 4, .width = 4};

// Of images that are all noise.
Tensor embedded(const Moments& moments, std::int64_t count) {
  const Tensor images = torch::rand({count, 16});
  return moments.embed(images, features::Scattering(kTiny)(images).flatten(1)).detach();
}

TEST(MomentsLoss, HasTheGradientOfTheDistanceFromOtherRows) {
  torch::manual_seed(3);
  MomentsOptions options;
  options.frequencies = 6;
  options.memory = 0;
  Moments moments(options, kTiny, features::Scattering(kTiny), 2, torch::kCPU);
  const Tensor rows = embedded(moments, 8).requires_grad_();
  moments.loss(rows).backward();
  const Tensor halves = rows.detach().view({2, 2, 2, rows.size(1)}).mean(2);  // [class, half, d]
  // Targets are zero before a release: row i of half h moves by the mean of the other half.
  for (std::int64_t c = 0; c < 2; ++c)
    for (std::int64_t i = 0; i < 4; ++i) {
      const Tensor expected = halves[c][1 - i / 2] / 2 / 2;  // over rows of a half, over classes
      EXPECT_TRUE(torch::allclose(rows.grad()[c * 4 + i], expected, 1e-5, 1e-6));
    }
}

TEST(MomentsLoss, RemembersEarlierBatches) {
  torch::manual_seed(4);
  MomentsOptions options;
  options.frequencies = 6;
  options.memory = 0.75;
  Moments moments(options, kTiny, features::Scattering(kTiny), 1, torch::kCPU);
  const Tensor before = embedded(moments, 4);
  moments.loss(before);
  const Tensor rows = embedded(moments, 4).requires_grad_();
  moments.loss(rows).backward();
  const Tensor other = rows.detach().slice(0, 2).mean(0);
  const Tensor expected = (0.75 * before.mean(0) + 0.25 * other) / 2;
  EXPECT_TRUE(torch::allclose(rows.grad()[0], expected, 1e-5, 1e-6));
}

TEST(Residuals, AreThoseOfTheFormulaAndOfEachRecordAlone) {
  torch::manual_seed(5);
  const Tensor features = barrier::on_outer_grid(torch::randn({70, 500}) / 20).to(torch::kFloat);
  const Tensor labels = torch::randint(0, 6, {70}, torch::kLong);
  const Tensor weights = torch::randn({6, 500}, torch::kDouble);
  const Tensor all = residuals(features, labels, weights, 3);
  const Tensor expected =
      torch::softmax(3 * torch::mm(features.to(torch::kDouble), weights.t()), 1) -
      torch::one_hot(labels, 6);
  EXPECT_LT((all - expected).abs().max().item<double>(), 1e-3) << "weights are rounded";
  for (const std::int64_t from : {0, 1, 33, 69}) {
    const Tensor one =
        residuals(features.narrow(0, from, 1), labels.narrow(0, from, 1), weights, 3);
    EXPECT_TRUE(one.equal(all.narrow(0, from, 1))) << from;
  }
}

PricedSections priced(const std::function<void(PrivacyOptions&, MethodOptions&)>& change) {
  PricedSections sections;
  sections.privacy.epsilon = 1;
  sections.privacy.delta = 1e-5;
  MethodOptions method;
  change(sections.privacy, method);
  sections.method.options = method;
  return sections;
}

void add_transport(PrivacyOptions& privacy, MethodOptions& method) {
  method.transport_share = 0.2;
  privacy.sampling_rate = 0.1;
  privacy.steps = 300;
  privacy.histogram_noise = 50;
  privacy.generated_batch = 200;
}

TEST(SummitPlan, DividesOneBudgetByShares) {
  const privacy::Plan plan = summit::plan(priced(add_transport)).value();
  ASSERT_EQ(plan.planned.size(), 4);
  EXPECT_LE(privacy::account(plan.events(), plan.delta).epsilon, 1);
  EXPECT_GT(privacy::account(plan.events(), plan.delta).epsilon, 0.99);
  const double moments = noise_of(plan, kMoments);
  const double teacher = noise_of(plan, kTeacher);
  const double transport = noise_of(plan, barrier::kTraining);
  // In units of count q^2 / multiplier^2, the shares are 0.5, 0.3 and 0.2.
  EXPECT_NEAR(1 / (moments * moments) / 0.5, 290 * 0.1365 * 0.1365 / (teacher * teacher) / 0.3,
              1e-9);
  EXPECT_NEAR(1 / (moments * moments) / 0.5, 300 * 0.01 / (transport * transport) / 0.2, 1e-9);
}

TEST(SummitPlan, LeavesOutWhatHasNoShare) {
  const privacy::Plan moments =
      summit::plan(priced([](auto&, MethodOptions& method) { method.teacher_share = 0; })).value();
  ASSERT_EQ(moments.planned.size(), 1);
  // Balle and Wang (2018): epsilon 1 at delta 1e-5 needs 3.7306 times the sensitivity.
  EXPECT_NEAR(noise_of(moments, kMoments), 3.7306, 1e-3);
  EXPECT_THROW(noise_of(moments, kTeacher), Error);
  const privacy::Plan teacher =
      summit::plan(priced([](auto&, MethodOptions& method) { method.moments_share = 0; })).value();
  ASSERT_EQ(teacher.planned.size(), 1);
  EXPECT_EQ(teacher.releases, 290);
}

TEST(SummitPlan, RefusesKeysThatMeanNothing) {
  const auto refused = [](const auto& change) {
    EXPECT_THROW(summit::plan(priced(change)), InvalidArgument);
  };
  refused([](PrivacyOptions& p, auto&) { p.sampling_rate = 0.1; });
  refused([](PrivacyOptions& p, auto&) { p.shards = 3; });
  refused([](PrivacyOptions& p, auto&) { p.delta.reset(); });
  refused([](auto&, MethodOptions& m) { m.moments_share = m.teacher_share = 0; });
  refused([](PrivacyOptions& p, MethodOptions& m) {
    add_transport(p, m);
    p.sampling_rate.reset();
  });
}

TEST(SummitCheck, RefusesWhatDoesNotGoTogether) {
  const data::Dataset::PublicFacts facts = halves(400).facts();
  const auto refused = [&](const std::function<void(Options&)>& change) {
    Options options = some_options();
    EXPECT_NO_THROW(check(options, facts));
    change(options);
    EXPECT_THROW(check(options, facts), InvalidArgument);
  };
  refused([](Options& o) { o.generator.output = "tanh"; });
  refused([](Options& o) { o.method.batch = 22; });
  refused([](Options& o) { o.method.frequency = "0.2,0.5,1"; });
  refused([](Options& o) { o.method.patches = 3; });
  refused([](Options& o) { o.method.patch_frequency = "x"; });
  refused([](Options& o) { o.transport_steps = o.method.steps + 1; });
  refused([](Options& o) { o.histogram_noise.reset(); });
}

TEST(SummitOptions, ReadSeveralFrequencies) {
  EXPECT_EQ(frequencies_of("method.frequency", "0.4,0.8,1.6"),
            (std::vector<double>{0.4, 0.8, 1.6}));
  for (const char* bad : {"", "0.4,", "a", "0", "-1", "1,,2", "nan", "1 2"})
    EXPECT_THROW(frequencies_of("method.frequency", bad), InvalidArgument) << bad;
}

}  // namespace
}  // namespace obol::method::summit
