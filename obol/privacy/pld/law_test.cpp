#include "obol/privacy/pld/law.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "obol/privacy/pld/characteristic.h"
#include "obol/privacy/pld/complex.h"
#include "obol/privacy/pld/composition.h"

namespace obol::privacy {
namespace {

Composition one_part(std::shared_ptr<const Pair> pair, std::int64_t count, Direction direction,
                     double negligible = 1e-20) {
  return {{{std::move(pair), count, direction == Direction::kEither}}, 0, direction, negligible};
}

double total_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// E_Q[(dP/dQ)^order] - 1 of a sampled Gaussian at whole orders, by its binomial sum.
double moment_less_one(double q, double sigma, int order) {
  double sum = 0;
  for (int k = 2; k <= order; ++k)
    sum += std::exp(std::lgamma(order + 1.0) - std::lgamma(k + 1.0) - std::lgamma(order - k + 1.0) +
                    k * std::log(q) + (order - k) * std::log1p(-q)) *
           std::expm1(k * (k - 1) / (2 * sigma * sigma));
  return sum;
}

TEST(Law, HasTheMomentsOfASampledGaussian) {
  for (const double q : {1e-6, 0.01, 0.5, 0.999999}) {
    for (const double sigma : {0.3, 1.0, 5.0, 1000.0})
      for (const int order : {2, 5, 11}) {
        const GaussianPair pair(q, sigma, 1);
        const double expected = std::log(moment_less_one(q, sigma, order));
        const Law law(pair, Direction::kRemove, order, kInfinity);
        EXPECT_NEAR(law.log_moment_less_one(order), expected, 1e-10)
            << q << ", " << sigma << ", " << order;
      }
  }
}

// Where a law is cut its tilted density may end at a cliff; and the mirrored law may have a peak
// that is far narrower than the noise.
TEST(Law, IsTheSameWithFinerPanels) {
  struct Case {
    double q, sigma, c, negligible;
    Direction direction;
  };
  for (const Case& one :
       {Case{1e-6, 0.8, 270, 1e-18, Direction::kRemove},
        Case{0.01, 1, 40, 1e-18, Direction::kRemove}, Case{0.5, 2, 3000, 1e-18, Direction::kAdd},
        Case{0.1, 1, 100, 1e-12, Direction::kEither}}) {
    const auto pair = std::make_shared<GaussianPair>(one.q, one.sigma, 1);
    const Composition composition = one_part(pair, 1'000, one.direction, one.negligible);
    const Law law = composition.law(composition.parts().front(), one.c, 0);
    const Law finer = composition.law(composition.parts().front(), one.c, 1e4);
    EXPECT_GT(finer.size(), law.size());
    EXPECT_NEAR(law.log_moment_less_one(one.c + 1), finer.log_moment_less_one(one.c + 1), 1e-11)
        << one.q << ", " << one.sigma << ", " << one.c;
  }
}

// log |E[e^{i t loss}]| may not be above -decay(t), nor further out.
void expect_decay(const Composition& composition, double c, double step) {
  constexpr std::size_t kCount = 400;
  const Law law =
      composition.law(composition.parts().front(), c, step * static_cast<double>(kCount));
  const TiltedLaw tilted = law.tilted(c + 1, 1e-20);
  const Characteristic characteristic(tilted, step, kCount);
  for (std::size_t n = 1; n < kCount; n += 3) {
    const double decay = tilted.decay(step * static_cast<double>(n));
    ASSERT_GE(decay, 0);
    for (std::size_t further = n; further < kCount; further += 20)
      ASSERT_LE(characteristic.log_at(further).real(), -decay + 1e-12) << n;
  }
}

TEST(Law, DecaysAtLeastAsFastAsItSays) {
  for (const double q : {1e-3, 0.3, 0.999}) {
    for (const double sigma : {0.4, 1.0, 8.0}) {
      for (const Direction direction : {Direction::kRemove, Direction::kAdd, Direction::kEither}) {
        for (const double c : {0.5, 8.0, 60.0}) {
          SCOPED_TRACE(::testing::Message() << q << ", " << sigma << ", " << c);
          expect_decay(one_part(std::make_shared<GaussianPair>(q, sigma, 1), 1, direction), c,
                       0.37 * sigma);
        }
      }
    }
  }
}

TEST(Law, KeepsTheAtomsOfALaplacePairOfTinyScale) {
  // Q's mass above 1 is e^-1000 / 2: nothing, to a double.
  const LaplacePair pair(1, 1e-3);
  const Law law(pair, Direction::kRemove, 3, kInfinity);
  // The atom at loss 1000 has half of P's mass: E_P[e^{2 loss}] is about e^2000 / 2.
  EXPECT_NEAR(law.log_moment(3), 2000 - std::log(2), 0.6);
  EXPECT_GE(law.log_moment(3), 2000 - std::log(2));
}

TEST(Law, HasThePMassUnderATiltOfOne) {
  const GaussianPair gaussian(0.2, 0.7, 1);
  EXPECT_NEAR(total_of(Law(gaussian, Direction::kRemove, 2, kInfinity).tilted(1 + 1e-12, 0).masses),
              1, 1e-12);
  EXPECT_NEAR(total_of(Law(gaussian, Direction::kAdd, 2, kInfinity).tilted(1 + 1e-12, 0).masses), 1,
              1e-12);
  const LaplacePair laplace(0.2, 0.7);
  EXPECT_NEAR(total_of(Law(laplace, Direction::kRemove, 2, kInfinity).tilted(1 + 1e-12, 0).masses),
              1, 1e-12);
}

// Against sums in extended precision of the same points.
TEST(Characteristic, IsRightRelativeToItsDistanceFromOne) {
  const auto pair = std::make_shared<GaussianPair>(1e-4, 0.6, 1);
  const Composition composition = one_part(pair, 1'000'000, Direction::kRemove, 1e-14);
  const double step = 0.25;
  for (const std::size_t count : {100U, 40'000U}) {  // one by one; interpolated and transformed
    const Law law =
        composition.law(composition.parts().front(), 1.5, step * static_cast<double>(count));
    const TiltedLaw tilted = law.tilted(2.5, 1e-26);
    const Characteristic characteristic(tilted, step, count);
    for (std::size_t n = 1; n < count; n += 1 + count / 60) {
      const long double t = static_cast<long double>(step) * static_cast<long double>(n);
      std::complex<long double> excess = 0;
      for (std::size_t i = 0; i < tilted.losses.size(); ++i) {
        const long double y = t * static_cast<long double>(tilted.losses[i]);
        const long double half = std::sin(y / 2);
        excess += static_cast<long double>(tilted.masses[i]) *
                  std::complex<long double>(-2 * half * half, std::sin(y));
      }
      const Complex expected(std::log(std::complex<long double>(1) + excess));
      // Extended precision has lost 1e-19 to the one that was added.
      EXPECT_LT(std::abs(characteristic.log_at(n) - expected), characteristic.error_at(n) + 1e-18)
          << n << " of " << count;
      EXPECT_LT(characteristic.error_at(n), 2e-14) << n << " of " << count;
    }
  }
}

}  // namespace
}  // namespace obol::privacy
