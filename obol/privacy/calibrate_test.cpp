#include "obol/privacy/calibrate.h"

#include <cmath>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/privacy/gaussian.h"

namespace obol::privacy {
namespace {

const Budget kTen{Epsilon{10}, Delta{1e-5}};

TEST(SmallestNoise, AgreesWithIndependentComputationsAndIsNeverBelow) {
  struct Case {
    double epsilon, rate;
    std::int64_t steps;
    double tight, renyi;
  };
  for (const Case& one : {Case{10, 0.1, 1000, 1.7489581287849971, 1.8455712167772342},
                          Case{10, 1, 100, 4.998886197090085, 5.295980823728899},
                          Case{1, 0.1, 1000, 11.865470180268455, 12.866633268034365},
                          Case{1, 1, 100, 37.30631634815942, 40.451303582924446}}) {
    const Budget budget{Epsilon{one.epsilon}, Delta{1e-5}};
    const auto events = [&](double sigma) {
      return std::vector<Event>{SampledGaussian{one.rate, sigma, one.steps}};
    };
    const double tight = smallest_noise(budget, events);
    EXPECT_GE(tight, one.tight * (1 - 1e-9));
    EXPECT_NEAR(tight, one.tight, 1e-4 * one.tight);
    const double renyi = smallest_noise(budget, events, {.kind = AccountantKind::kRdp});
    EXPECT_NEAR(renyi, one.renyi, 1e-4 * one.renyi);
    EXPECT_LE(account(events(tight), budget.delta).epsilon, one.epsilon);
    EXPECT_GT(account(events(tight * (1 - 1e-5)), budget.delta).epsilon, one.epsilon);
  }
}

TEST(SmallestNoise, OfOneGaussianIsTheAnalyticFormula) {
  for (const double epsilon : {0.01, 0.5, 3.0, 100.0, 5000.0}) {
    const Budget budget{Epsilon{epsilon}, Delta{1e-6}};
    const double exact =
        calibrate_gaussian(budget.epsilon, budget.delta, GaussianFormula::kAnalytic);
    const double found = smallest_noise(budget, [](double sigma) {
      return std::vector<Event>{Gaussian{sigma, 1}};
    });
    EXPECT_GE(found, exact * (1 - 1e-9));
    EXPECT_NEAR(found, exact, 1e-5 * exact);
  }
}

TEST(SmallestNoise, SaysSoWhereNoneIsEnough) {
  const auto never = [](double) { return std::vector<Event>{Gaussian{0.01, 1}}; };
  EXPECT_THROW(smallest_noise(kTen, never), InvalidArgument);
}

TEST(MostSteps, FitsAndOneMoreDoesNot) {
  for (const double rate : {0.001, 0.05, 1.0}) {
    const auto events = [&](std::int64_t steps) {
      return std::vector<Event>{SampledGaussian{rate, 3, steps}, Gaussian{10, 1}};
    };
    const std::int64_t steps = most_steps(kTen, events, std::int64_t{1} << 40);
    EXPECT_LE(account(events(steps), kTen.delta).epsilon, 10);
    EXPECT_GT(account(events(steps + 1), kTen.delta).epsilon, 10);
  }
}

TEST(MostSteps, IsNothingWhereOneIsTooManyAndNeverMoreThanAsked) {
  const auto events = [](std::int64_t steps) { return std::vector<Event>{Gaussian{0.1, steps}}; };
  EXPECT_EQ(most_steps(kTen, events, 1000), 0);
  const auto cheap = [](std::int64_t steps) { return std::vector<Event>{Gaussian{1e3, steps}}; };
  EXPECT_EQ(most_steps(kTen, cheap, 1000), 1000);
  EXPECT_EQ(most_steps(kTen, cheap, 1), 1);
  EXPECT_EQ(most_steps(kTen, cheap, 0), 0);
}

TEST(LargestRate, FitsAndALittleMoreDoesNot) {
  const auto events = [](double rate) {
    return std::vector<Event>{SampledGaussian{rate, 1.5, 10000}};
  };
  const double rate = largest_rate(kTen, events);
  EXPECT_LE(account(events(rate), kTen.delta).epsilon, 10);
  EXPECT_GT(account(events(rate * (1 + 1e-5)), kTen.delta).epsilon, 10);
  EXPECT_EQ(largest_rate(kTen,
                         [](double at) {
                           return std::vector<Event>{SampledGaussian{at, 100, 10}};
                         }),
            1);
  EXPECT_THROW(largest_rate(kTen,
                            [](double) {
                              return std::vector<Event>{Gaussian{0.01, 1}};
                            }),
               InvalidArgument);
}

}  // namespace
}  // namespace obol::privacy
