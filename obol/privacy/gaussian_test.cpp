#include "obol/privacy/gaussian.h"

#include <cmath>
#include <limits>
#include <numbers>

#include <gtest/gtest.h>

namespace obol::privacy {
namespace {

void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_LE(std::abs(actual - expected), tolerance * std::abs(expected))
      << actual << " against " << expected;
}

double analytic(double epsilon, double delta) {
  return calibrate_gaussian(Epsilon{epsilon}, Delta{delta}, GaussianFormula::kAnalytic);
}

double zhao(double epsilon, double delta) {
  return calibrate_gaussian(Epsilon{epsilon}, Delta{delta}, GaussianFormula::kZhao);
}

// The hockey-stick divergence of N(1, sigma^2) from N(0, sigma^2), integrated.
double integrated_delta(double sigma, double epsilon) {
  const double step = sigma * 1e-4;
  // Beyond this point the first density is more than e^epsilon times the second.
  const double start = epsilon * sigma * sigma + 0.5;
  double sum = 0;
  for (int i = 0; i < 400000; ++i) {
    const double x = start + (i + 0.5) * step;
    const double first = -(x - 1) * (x - 1) / (2 * sigma * sigma);
    const double second = epsilon - x * x / (2 * sigma * sigma);
    sum += std::exp(first) - std::exp(second);
  }
  return sum * step / (sigma * std::sqrt(2 * std::numbers::pi));
}

TEST(GaussianDelta, IsTheHockeyStickDivergence) {
  for (const double sigma : {0.3, 1.0, 4.0})
    for (const double epsilon : {0.0, 0.5, 3.0})
      expect_relative(gaussian_delta(sigma, Epsilon{epsilon}), integrated_delta(sigma, epsilon),
                      1e-6);
}

TEST(GaussianDelta, FallsAndNeverOverflows) {
  double before = 1;
  for (const double epsilon : {0.0, 1.0, 10.0, 190.0, 210.0, 300.0, 900.0, 1e5}) {
    const double delta = gaussian_delta(0.05, Epsilon{epsilon});
    EXPECT_TRUE(delta >= 0 && delta <= before) << epsilon;
    before = delta;
  }
  EXPECT_EQ(before, 0);
  EXPECT_GT(gaussian_delta(0.05, Epsilon{300}), 1e-10);
}

TEST(CalibrateGaussian, AgreesWithIndependentComputations) {
  expect_relative(analytic(0.5, 1e-5), 7.031826675582, 1e-9);
  expect_relative(analytic(1, 1e-5), 3.730631634816, 1e-9);
  expect_relative(analytic(10, 1e-4), 0.4552651305468, 1e-9);
  expect_relative(zhao(0.5, 1e-5), 9.110506067753, 1e-9);
  expect_relative(zhao(1, 1e-5), 4.60885808304, 1e-9);
  expect_relative(zhao(10, 1e-4), 0.4963268629667, 1e-9);
  expect_relative(calibrate_gaussian(Epsilon{0.5}, Delta{1e-5}, GaussianFormula::kClassic),
                  std::sqrt(2 * std::log(1.25e5)) / 0.5, 1e-9);
}

TEST(CalibrateGaussian, IsEnoughAndHardlyMore) {
  for (const double epsilon : {1e-3, 0.1, 1.0, 10.0, 500.0})
    for (const double delta : {1e-12, 1e-5, 0.3}) {
      const double sigma = analytic(epsilon, delta);
      EXPECT_LE(gaussian_delta(sigma, Epsilon{epsilon}), delta);
      EXPECT_GT(gaussian_delta(sigma * (1 - 1e-6), Epsilon{epsilon}), delta);
      EXPECT_GE(zhao(epsilon, delta), sigma) << "sufficient, never better than exact";
    }
}

TEST(GaussianEpsilon, IsTheInverse) {
  for (const double epsilon : {1e-3, 0.1, 1.0, 10.0, 500.0})
    for (const double delta : {1e-12, 1e-5, 0.3})
      expect_relative(gaussian_epsilon(analytic(epsilon, delta), Delta{delta}).value(), epsilon,
                      1e-8);
}

TEST(GaussianEpsilon, ComposesBySquares) {
  // 100 releases at multiplier 5, by an independent tight accountant.
  expect_relative(gaussian_epsilon(0.5, Delta{1e-5}).value(), 9.997256146434301, 1e-9);
}

TEST(GaussianEpsilon, IsZeroWhereDeltaAloneSuffices) {
  EXPECT_EQ(gaussian_epsilon(1000, Delta{0.1}).value(), 0);
  EXPECT_GT(gaussian_epsilon(1000, Delta{1e-12}).value(), 0);
}

TEST(CalibrateGaussian, RefusesWhatTheFormulasDoNotCover) {
  const auto classic = GaussianFormula::kClassic;
  EXPECT_THROW((void)calibrate_gaussian(Epsilon{1}, Delta{1e-5}, classic), InvalidArgument);
  EXPECT_THROW((void)calibrate_gaussian(Epsilon{0}, Delta{1e-5}, classic), InvalidArgument);
  EXPECT_THROW((void)zhao(1, 0.5), InvalidArgument);
  EXPECT_THROW((void)zhao(0, 1e-5), InvalidArgument);
  EXPECT_THROW((void)analytic(1, 0), InvalidArgument);
  EXPECT_THROW((void)gaussian_epsilon(1, Delta{0}), InvalidArgument);
  EXPECT_THROW((void)zhao_epsilon(1, Delta{0.5}), InvalidArgument);
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()})
    EXPECT_THROW((void)gaussian_delta(bad, Epsilon{1}), InvalidArgument);
}

TEST(ZhaoEpsilon, IsWhatItsFormulaWasCalibratedFor) {
  for (const double epsilon : {0.1, 1.0, 35.0, 1268.0}) {
    const double multiplier =
        calibrate_gaussian(Epsilon{epsilon}, Delta{1e-4}, GaussianFormula::kZhao);
    EXPECT_NEAR(zhao_epsilon(multiplier, Delta{1e-4}).value(), epsilon, 1e-9 * epsilon);
    EXPECT_LE(gaussian_epsilon(multiplier, Delta{1e-4}).value(), epsilon);
  }
}

}  // namespace
}  // namespace obol::privacy
