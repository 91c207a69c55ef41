#include "obol/privacy/gaussian.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

namespace obol::privacy {
namespace {

// Covers the rounding of the closed formulas, so that what is rounded up is never too small.
constexpr double kMargin = 1e-11;

// The integral over s > 0 of e^{-c s - s^2/2} (1 - e^{-t s}), for c >= -1; t may be infinite. Every
// term is positive, so nothing cancels. With s = e^v the integrand is analytic for |Im v| < pi/4,
// where the trapezoidal rule converges geometrically: below 1e-17 of the whole at this step, and so
// is what lies before the first and behind the last point.
double upper_tail(double c, double t) {
  constexpr double kStep = 0.125;
  constexpr double kLast = 4;
  constexpr double kFirst = -21;      // where the integrand falls as s^2 towards 0
  constexpr double kVeryFirst = -40;  // where it falls as s
  const double unit = 1 / (1 + std::abs(c));
  const double first = std::max(kVeryFirst, kFirst - std::log1p(t * unit));
  double sum = 0;
  for (double v = std::floor(first / kStep) * kStep; v <= kLast; v += kStep) {
    const double s = unit * std::exp(v);
    sum += s * std::exp(-s * (c + s / 2)) * -std::expm1(-t * s);
  }
  return sum * kStep;
}

// log delta where half = 1 / (2 multiplier) and shift = epsilon multiplier, off by at most
// 1e-14 + 3e-16 (shift - half)^2 (measured against 60 digits; slack() has three times that).
//
// delta = Phi(half - shift) - e^epsilon Phi(-half - shift). Both terms are the density at
// shift - half times a Mills ratio, the integral over s > 0 of e^{-x s - s^2/2}, at
// x = shift - half and x = shift + half; upper_tail is the difference of the two integrals.
double log_delta(double half, double shift) {
  constexpr double kNothing = 1e150;  // beyond it, delta is below every positive number
  const double c = shift - half;
  if (c > kNothing) return -std::numeric_limits<double>::infinity();
  const double log_density = -c * c / 2 - 0.5 * std::log(2 * std::numbers::pi);
  if (c >= -1) return log_density + std::log(upper_tail(c, 2 * half));
  // Here the first term is at least 0.84 and the second at most 0.16.
  const double mills = upper_tail(shift + half, std::numeric_limits<double>::infinity());
  return std::log(0.5 * std::erfc(c / std::numbers::sqrt2) - std::exp(log_density) * mills);
}

// More than log_delta and the logarithm of a given delta are off.
double slack(double half, double shift) {
  const double c = std::min(shift - half, 1e150);
  return 1e-12 + 1e-15 * c * c;
}

// delta rises with half and falls with shift, so that rounding both outwards bounds it.
constexpr double kOut = 0x1p-51;
struct LogDelta {
  double lower;
  double upper;
};
LogDelta log_delta_bounds(double noise_multiplier, double epsilon) {
  const double half = 1 / (2 * noise_multiplier);
  const double shift = epsilon * noise_multiplier;
  const auto [up, down] = std::pair(1 + kOut, 1 - kOut);
  return {.lower = log_delta(half * down, shift * up) - slack(half * down, shift * up),
          .upper = log_delta(half * up, shift * down) + slack(half * up, shift * down)};
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

// The least x in which a falling condition holds, to 1e-13 relative: `high` is the least where it
// was seen to hold, `low` the largest where it was seen not to, or 0.
struct Least {
  double low;
  double high;
};
template <class Condition>
Least least(const Condition& holds) {
  double high = 1;
  while (!holds(high)) high *= 2;
  double low = high / 2;
  while (low > 1e-300 && holds(low)) {
    high = low;
    low /= 2;
  }
  if (low <= 1e-300) return {.low = 0, .high = high};
  while (high - low > 1e-13 * high) {
    const double middle = low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return {.low = low, .high = high};
}

// log(2 / (sqrt(1 + 16 delta) - 1)), with the difference of roots written as a quotient.
double zhao_c_squared(Delta delta) {
  const double root = std::sqrt(1 + 16 * delta.value());
  return std::log((root + 1) / (8 * delta.value()));
}

}  // namespace

double gaussian_delta(double noise_multiplier, Epsilon epsilon) {
  check_multiplier(noise_multiplier);
  // Half the slack would do: an epsilon or a multiplier that was found with all of it passes.
  const auto [lower, upper] = log_delta_bounds(noise_multiplier, epsilon.value());
  return std::min(1.0, std::exp(upper - 5e-13));
}

Epsilon gaussian_epsilon(double noise_multiplier, Delta delta) {
  check_multiplier(noise_multiplier);
  check_delta(delta, 1);
  const double wanted = std::log(delta.value());
  const auto holds = [&](double epsilon) {
    return log_delta_bounds(noise_multiplier, epsilon).upper <= wanted;
  };
  return Epsilon{holds(0) ? 0.0 : least(holds).high};
}

Epsilon gaussian_epsilon_lower(double noise_multiplier, Delta delta) {
  check_multiplier(noise_multiplier);
  check_delta(delta, 1);
  const double wanted = std::log(delta.value());
  const auto may_hold = [&](double epsilon) {
    return log_delta_bounds(noise_multiplier, epsilon).lower <= wanted;
  };
  return Epsilon{may_hold(0) ? 0.0 : least(may_hold).low};
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
      return least([&](double sigma) {
               return log_delta_bounds(sigma, e).upper <= std::log(delta.value());
             })
          .high;
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
