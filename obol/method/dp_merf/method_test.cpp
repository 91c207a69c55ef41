#include "obol/method/dp_merf/method.h"

#include <cmath>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/base/file.h"
#include "obol/method/dp_merf/entry.h"
#include "obol/method/halves_testing.h"
#include "obol/model/generator_file.h"
#include "obol/privacy/accountant.h"
#include "obol/privacy/ledger.h"

namespace obol::method::dp_merf {
namespace {

using method::testing::halves;
using torch::Tensor;

Options some_options() {
  Options options{.method = {}, .optimizer = {}, .generator = {}, .noise_multiplier = 2};
  options.method.frequencies = 1500;  // more than there are pixels
  options.method.frequency = 0.1;
  options.method.batch = 20;
  options.method.steps = 150;
  options.generator.width = 4;
  options.generator.latent = 2;
  options.generator.output = "sigmoid";
  options.optimizer.learning_rate = 1e-2;
  return options;
}

class DpMerfTest : public ::testing::Test {
 protected:
  void SetUp() override { torch::manual_seed(1); }

  DpMerf make(const Options& options) { return {options, data, {.door = &door, .bits = bits}}; }

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

TEST_F(DpMerfTest, PaysOnceAndForNothingElse) {
  DpMerf method = make(some_options());
  method.start();
  for (std::int64_t step = 1; step <= 3; ++step) method.step(step, nothing);
  guard.settle();
  const privacy::Event expected = privacy::Gaussian{.noise_multiplier = 2, .count = 1};
  EXPECT_EQ(ledger.record().paid(kEmbedding, expected), 1);
  EXPECT_EQ(ledger.spent().size(), 1);
}

TEST_F(DpMerfTest, LearnsWhichHalfIsBright) {
  Options options = some_options();
  DpMerf method = make(options);
  method.start();
  for (std::int64_t step = 1; step <= options.method.steps; ++step) method.step(step, nothing);
  write_file(folder.path() / "generator.safetensors", method.generator());
  const auto generator = model::load_generator(folder.path() / "generator.safetensors");
  const torch::NoGradGuard no_grad;
  for (std::int64_t label = 0; label < 2; ++label) {
    const Tensor images =
        generator->forward(generator->latents(20, bits), torch::full({20}, label, torch::kLong));
    const double upper = images.slice(2, 0, 14).mean().item<double>();
    const double lower = images.slice(2, 14).mean().item<double>();
    EXPECT_GT((label == 0 ? upper - lower : lower - upper), 0.3) << label;
  }
}

TEST_F(DpMerfTest, GoesOnFromACheckpointAsItWouldHave) {
  DpMerf first = make(some_options());
  first.start();
  for (std::int64_t step = 1; step <= 3; ++step) first.step(step, nothing);
  const run::Sections saved = first.save();
  SeededBits one(5);
  SeededBits other(5);
  DpMerf on(some_options(), data, {.door = &door, .bits = one});
  DpMerf again(some_options(), data, {.door = &door, .bits = other});
  on.load(saved);
  again.load(saved);
  for (std::int64_t step = 4; step <= 6; ++step) {
    on.step(step, nothing);
    again.step(step, nothing);
  }
  EXPECT_EQ(on.save().at("generator"), again.save().at("generator"));
  EXPECT_NE(on.save().at("generator"), saved.at("generator"));
}

// Sums of 5,000 and 50 records: the features' part of a unit vector is sqrt(0.99), the count's 0.1.
TEST(MeansOf, AreSumsOverNoisyCounts) {
  const Tensor means = torch::tensor({{0.6, 0.8}, {0.0, 1.0}}, torch::kDouble);
  const Tensor counts = torch::tensor({{5000.0}, {50.0}}, torch::kDouble);
  const Tensor sums = torch::cat({means * counts * std::sqrt(0.99), counts * 0.1}, 1);
  EXPECT_TRUE(torch::allclose(means_of(sums, 1), means, 1e-12, 1e-12));
  // With a noise of 10 on the sums a count is known to 100: 50 count as 200, which shrinks them.
  EXPECT_TRUE(torch::allclose(means_of(sums, 10)[1], means[1] / 4, 1e-12, 1e-12));
}

// Against the mean over all pairs of different rows, written out.
TEST(Distance, LeavesOutWhatARowHasWithItself) {
  torch::manual_seed(2);
  const std::int64_t each = 5;
  Tensor rows = torch::randn({2 * each, 3}, torch::kDouble);
  rows = rows / rows.norm(2, {1}, true);
  const Tensor targets = torch::randn({2, 3}, torch::kDouble);
  double expected = 0;
  for (std::int64_t c = 0; c < 2; ++c) {
    double pairs = 0;
    double between = 0;
    for (std::int64_t i = 0; i < each; ++i) {
      between += (rows[c * each + i] * targets[c]).sum().item<double>() / each;
      for (std::int64_t j = 0; j < each; ++j)
        if (i != j) pairs += (rows[c * each + i] * rows[c * each + j]).sum().item<double>();
    }
    expected +=
        pairs / (each * (each - 1)) - 2 * between + targets[c].square().sum().item<double>();
  }
  EXPECT_NEAR(distance(rows, targets).item<double>(), expected / 2, 1e-12);
}

PricedSections priced(const std::function<void(PrivacyOptions&)>& change) {
  PricedSections sections;
  sections.privacy.epsilon = 1;
  sections.privacy.delta = 1e-5;
  change(sections.privacy);
  return sections;
}

TEST(DpMerfPlan, IsOneReleaseWithTheLeastNoiseForTheBudget) {
  const privacy::Plan plan = dp_merf::plan(priced([](auto&) {})).value();
  ASSERT_EQ(plan.planned.size(), 1);
  EXPECT_EQ(plan.planned[0].purpose, kEmbedding);
  EXPECT_EQ(plan.releases, 1);
  // Balle and Wang (2018): epsilon 1 at delta 1e-5 needs 3.7306 times the sensitivity.
  EXPECT_NEAR(plan.noise_multiplier, 3.7306, 1e-3);
  EXPECT_LE(privacy::account(plan.events(), plan.delta).epsilon, 1);
}

TEST(DpMerfPlan, RefusesKeysThatMeanNothing) {
  EXPECT_THROW(dp_merf::plan(priced([](auto& p) { p.sampling_rate = 0.1; })), InvalidArgument);
  EXPECT_THROW(dp_merf::plan(priced([](auto& p) { p.steps = 3; })), InvalidArgument);
  EXPECT_THROW(dp_merf::plan(priced([](auto& p) { p.delta.reset(); })), InvalidArgument);
}

}  // namespace
}  // namespace obol::method::dp_merf
