#include "obol/privacy/plan.h"

#include <cmath>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::privacy {
namespace {

const Delta kPlanDelta{1e-5};
const Budget kPlanBudget{Epsilon{1}, kPlanDelta};

double price(const std::vector<PlannedEvent>& planned) {
  std::vector<Event> events;
  for (const PlannedEvent& one : planned) events.push_back(one.event);
  return account(events, kPlanDelta).epsilon;
}

double noise_of(const PlannedEvent& planned) {
  return std::get<Gaussian>(planned.event).noise_multiplier;
}

PlanRequest request_of(const std::vector<Release>& releases) {
  return {.neighbours = Neighbours::kAddRemove,
          .delta = kPlanDelta,
          .budget = kPlanBudget.epsilon,
          .steps = 1,
          .releases = [releases](std::int64_t) { return releases; }};
}

// In units of 1 / multiplier^2 Gaussian releases add up: 0.2 + 3 x 0.1 + 0.5 is one release of 1.
TEST(Shares, OfGaussianReleasesAddUp) {
  const std::vector<Release> releases = {{"counts", Gaussian{1, 1}, 0.2},
                                         {"moments", Gaussian{1, 3}, 0.1},
                                         {"embedding", Gaussian{1, 1}, 0.5}};
  const Plan plan = make_plan(request_of(releases));
  const double alone = smallest_factor(kPlanBudget, {{"all", Gaussian{1, 1}, 1}});
  EXPECT_NEAR(plan.noise_multiplier, alone, 5e-6 * alone);
  EXPECT_LE(price(plan.planned), 1);
  EXPECT_GT(price(plan.planned), 1 - 1e-5);
  ASSERT_EQ(plan.planned.size(), 3U);
  EXPECT_EQ(noise_of(plan.planned[0]), plan.noise_multiplier / std::sqrt(0.2));
  EXPECT_EQ(noise_of(plan.planned[2]), plan.noise_multiplier / std::sqrt(0.5));
  EXPECT_EQ(count_of(plan.planned[1].event), 3);
}

TEST(Shares, AreOfWhatFixedReleasesLeave) {
  const std::vector<Release> releases = {{"fixed", Gaussian{5, 1}}, {"rest", Gaussian{1, 1}, 1}};
  const Plan plan = make_plan(request_of(releases));
  EXPECT_EQ(noise_of(plan.planned[0]), 5);
  const double alone = smallest_factor(kPlanBudget, {{"all", Gaussian{1, 1}, 1}});
  // 1/alone^2 = 1/5^2 + 1/factor^2
  EXPECT_NEAR(plan.noise_multiplier, 1 / std::sqrt(1 / (alone * alone) - 1 / 25.0), 1e-4);
}

TEST(Shares, ScaleLaplaceNoiseAsWell) {
  const auto planned = with_noise({{"counts", Laplace{1, 1}, 4}}, 6);
  EXPECT_EQ(std::get<Laplace>(planned[0].event).scale, 3);
}

TEST(Shares, MustBeThereForNoiseToBeFound) {
  EXPECT_THROW(make_plan(request_of({{"fixed", Gaussian{5, 1}}})), InvalidArgument);
  EXPECT_THROW(make_plan(request_of({{"none", Gaussian{1, 1}, 0}})), InvalidArgument);
  EXPECT_THROW(with_noise({{"answers", LocalRandomizedResponse{1, 10, 1}, 1}}, 1), InvalidArgument);
}

// The least noise of one release is what it was before there were shares, bit for bit.
TEST(Shares, OfOneReleaseAreItsNoise) {
  const double factor =
      smallest_factor(kPlanBudget, {{"training", SampledGaussian{0.01, 1, 1000}, 1}});
  EXPECT_EQ(factor, smallest_noise(kPlanBudget, [](double noise) {
              return std::vector<Event>{SampledGaussian{0.01, noise, 1000}};
            }));
}

TEST(Plan, WantsABudgetForWhatIsLeftOpen) {
  PlanRequest request = request_of({{"training", Gaussian{1, 1}, 1}});
  request.budget.reset();
  EXPECT_THROW(make_plan(request), InvalidArgument);
  request.steps.reset();
  EXPECT_THROW(make_plan(request), InvalidArgument);
}

}  // namespace
}  // namespace obol::privacy
