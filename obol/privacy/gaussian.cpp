#include "obol/privacy/gaussian.h"

#include <cmath>
#include <numbers>

namespace obol::privacy {
namespace {

// Covers the rounding of the functions below, so that what is rounded up is never too small.
constexpr double kMargin = 1e-11;

// log of the standard normal distribution function, in the far tail by its continued fraction.
double log_normal_cdf(double x) {
  constexpr double kFarTail = -30;
  if (x > kFarTail) return std::log(0.5 * std::erfc(-x / std::numbers::sqrt2));
  double fraction = 0;
  for (int k = 30; k > 0; --k) fraction = k / (-x + fraction);
  return -x * x / 2 - std::log(-x + fraction) - 0.5 * std::log(2 * std::numbers::pi);
}

void check_multiplier(double noise_multiplier) {
  if (!std::isfinite(noise_multiplier) || noise_multiplier <= 0)
    throw InvalidArgument(violation("noise_multiplier", "finite and positive", noise_multiplier));
}

void check_delta(Delta delta, double below) {
  if (delta.value() <= 0 || delta.value() >= below)
    throw InvalidArgument(
        violation("delta", fmt::format("above 0 and below {}", below), delta.value()));
}

// The least x in which a falling condition holds, to 1e-13 relative, on the side where it does.
template <class Condition>
double least(const Condition& holds) {
  double high = 1;
  while (!holds(high)) high *= 2;
  double low = high / 2;
  while (low > 1e-300 && holds(low)) {
    high = low;
    low /= 2;
  }
  while (high - low > 1e-13 * high) {
    const double middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high * (1 + kMargin);
}

// log(2 / (sqrt(1 + 16 delta) - 1)), with the difference of roots written as a quotient.
double zhao_c_squared(Delta delta) {
  const double root = std::sqrt(1 + 16 * delta.value());
  return std::log((root + 1) / (8 * delta.value()));
}

}  // namespace

double gaussian_delta(double noise_multiplier, Epsilon epsilon) {
  check_multiplier(noise_multiplier);
  const double half = 1 / (2 * noise_multiplier);
  const double shift = epsilon.value() * noise_multiplier;
  const double first = log_normal_cdf(half - shift);
  const double second = epsilon.value() + log_normal_cdf(-half - shift);
  // e^first - e^second without overflow; rounding may not make it negative.
  return second >= first ? 0.0 : std::exp(first) * -std::expm1(second - first);
}

Epsilon gaussian_epsilon(double noise_multiplier, Delta delta) {
  check_multiplier(noise_multiplier);
  check_delta(delta, 1);
  if (gaussian_delta(noise_multiplier, Epsilon{0}) <= delta.value()) return Epsilon{0};
  return Epsilon{least([&](double epsilon) {
    return gaussian_delta(noise_multiplier, Epsilon{epsilon}) <= delta.value();
  })};
}

Epsilon zhao_epsilon(double noise_multiplier, Delta delta) {
  check_multiplier(noise_multiplier);
  check_delta(delta, 0.5);
  // The formula solved for epsilon: sqrt(c^2 + epsilon) = c + 1 / (sqrt(2) multiplier).
  const double c = std::sqrt(zhao_c_squared(delta));
  return Epsilon{(std::numbers::sqrt2 * c + 1 / (2 * noise_multiplier)) / noise_multiplier};
}

double calibrate_gaussian(Epsilon epsilon, Delta delta, GaussianFormula formula) {
  const double e = epsilon.value();
  switch (formula) {
    case GaussianFormula::kAnalytic:
      check_delta(delta, 1);
      return least([&](double sigma) { return gaussian_delta(sigma, epsilon) <= delta.value(); });
    case GaussianFormula::kZhao: {
      check_delta(delta, 0.5);
      if (e <= 0) throw InvalidArgument(violation("epsilon", "positive for this formula", e));
      const double c_squared = zhao_c_squared(delta);
      const double c = std::sqrt(c_squared);
      return (c + std::sqrt(c_squared + e)) / (e * std::numbers::sqrt2) * (1 + kMargin);
    }
    case GaussianFormula::kClassic:
      check_delta(delta, 1);
      if (!(e > 0 && e < 1))
        throw InvalidArgument(
            violation("epsilon", "above 0 and below 1 for the classic formula", e));
      return std::sqrt(2 * std::log(1.25 / delta.value())) / e * (1 + kMargin);
  }
  throw InvalidArgument("the formula must be analytic, zhao or classic, but is none of them");
}

}  // namespace obol::privacy
