#include "obol/privacy/calibrate.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::privacy {
namespace {

constexpr double kPrecision = 2e-6;  // relative, of noise and rate

// A point and how far above the budget it is: log(cost / budget), negative where it fits.
struct Tried {
  double x;
  double excess;
};

// Between a point that fits and one that does not, both on a logarithmic scale; ends at the one
// that fits, `precision` from one that does not. Mostly by secants, since log cost is nearly
// straight.
template <class Excess>
double refine(const Excess& excess, Tried fits, Tried fails, double precision) {
  int stayed = 0;  // how often the same end was kept
  for (int i = 0; i < 200 && std::abs(fits.x - fails.x) > precision; ++i) {
    double share = fits.excess / (fits.excess - fails.excess);
    // A secant lands on one side again and again; and a cost of zero has no logarithm.
    if (!std::isfinite(share) || std::abs(stayed) >= 2) share = 0.5;
    const double least = std::min(0.5, 0.3 * precision / std::abs(fits.x - fails.x));
    share = std::clamp(share, least, 1 - least);
    const Tried middle{.x = fits.x + (fails.x - fits.x) * share,
                       .excess = excess(fits.x + (fails.x - fits.x) * share)};
    if (middle.excess <= 0) {
      fits = middle;
      stayed = stayed > 0 ? 1 : stayed - 1;
    } else {
      fails = middle;
      stayed = stayed < 0 ? 1 : stayed + 1;
    }
  }
  return fits.x;
}

// log(cost / budget) of events.
double excess_of(const Budget& budget, const std::vector<Event>& events, const Accounting& how) {
  const double cost = account(events, budget.delta, how).epsilon;
  if (cost <= budget.epsilon.value())
    return std::min(-1e-300, std::log(cost / budget.epsilon.value()));
  return budget.epsilon.value() == 0 ? 1e3 : std::log(cost / budget.epsilon.value());
}

}  // namespace

double smallest_noise(const Budget& budget,
                      const std::function<std::vector<Event>(double multiplier)>& events,
                      const Accounting& how) {
  const auto excess = [&](double x) { return excess_of(budget, events(std::exp(x)), how); };
  constexpr double kLargest = 1e9;
  Tried here{.x = 0, .excess = excess(0)};
  const double direction = here.excess <= 0 ? -1 : 1;
  while (true) {
    const double x = here.x + direction * std::log(4);
    if (std::abs(x) > std::log(kLargest))
      throw InvalidArgument(
          fmt::format("the noise multiplier must be between 1e-9 and 1e9, but none there is just "
                      "enough for epsilon {} and delta {}",
                      budget.epsilon.value(), budget.delta.value()));
    const Tried next{.x = x, .excess = excess(x)};
    if ((next.excess <= 0) != (here.excess <= 0))
      return std::exp(next.excess <= 0 ? refine(excess, next, here, kPrecision)
                                       : refine(excess, here, next, kPrecision));
    here = next;
  }
}

std::int64_t most_steps(const Budget& budget,
                        const std::function<std::vector<Event>(std::int64_t steps)>& events,
                        std::int64_t most, const Accounting& how) {
  const auto fits = [&](std::int64_t steps) { return excess_of(budget, events(steps), how) <= 0; };
  if (most < 1 || !fits(1)) return 0;
  std::int64_t low = 1;  // fits
  std::int64_t high = 2;
  while (high < most && fits(high)) {
    low = high;
    high = std::min(most, high > most / 4 ? most : high * 4);
  }
  if (high >= most) {
    if (fits(most)) return most;
    high = most;
  }
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

double largest_rate(const Budget& budget,
                    const std::function<std::vector<Event>(double rate)>& events,
                    const Accounting& how) {
  const auto excess = [&](double x) { return excess_of(budget, events(std::exp(x)), how); };
  Tried fails{.x = 0, .excess = excess(0)};
  if (fails.excess <= 0) return 1;
  constexpr double kSmallest = 1e-9;
  while (true) {
    const double x = fails.x - std::log(8);
    if (x < std::log(kSmallest))
      throw InvalidArgument(
          fmt::format("the sampling rate must be at least {}, but none there is low enough for "
                      "epsilon {} and delta {}",
                      kSmallest, budget.epsilon.value(), budget.delta.value()));
    const Tried next{.x = x, .excess = excess(x)};
    if (next.excess <= 0) return std::exp(refine(excess, next, fails, kPrecision));
    fails = next;
  }
}

}  // namespace obol::privacy
