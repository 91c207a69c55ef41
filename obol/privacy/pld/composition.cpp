#include "obol/privacy/pld/composition.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "obol/privacy/search.h"

namespace obol::privacy {
namespace {

// Beyond, a bound differs from its limit by less than log(1/delta)/c: nothing, next to 1e-3.
constexpr double kLargestTilt = 1e5;
constexpr double kSmallestTilt = 1e-9;

// The largest of e^{-c y} (1 - e^{-y}) over y > 0, which turns a moment into a bound on delta.
double log_kernel(double c) { return c * std::log(c) - (1 + c) * std::log1p(c); }

class SingleCurve final : public DeltaCurve {
 public:
  SingleCurve(const Pair& pair, Direction direction) : pair_(pair), direction_(direction) {}
  [[nodiscard]] DeltaBounds at(double epsilon) const override;

 private:
  const Pair& pair_;
  Direction direction_;
};

DeltaBounds SingleCurve::at(double epsilon) const {
  constexpr double kRelative = 1e-12;
  PairMass mass{};  // of losses above epsilon (which is not negative)
  if (direction_ == Direction::kAdd) {
    const PairMass mirrored = pair_.mass(-kInfinity, pair_.x_at(-epsilon));
    mass = {.p = mirrored.q, .q = mirrored.p};
  } else {
    mass = pair_.mass(pair_.x_at(epsilon), kInfinity);
  }
  if (mass.p == 0) return {.lower = 0, .upper = 0};
  // Where Q has less than a double holds, all that is known is that e^epsilon Q is at most P.
  constexpr double kTiny = std::numeric_limits<double>::min();
  if (mass.q < kTiny) return {.lower = 0, .upper = mass.p * (1 + kRelative)};
  const double delta = std::max(0.0, mass.p - std::exp(epsilon + std::log(mass.q)));
  return {.lower = delta - kRelative * mass.p, .upper = delta + kRelative * mass.p};
}

}  // namespace

bool Tilt::is_limit() const { return c > 0.9 * kLargestTilt; }

Composition::Composition(std::vector<Part> parts, double gaussian, Direction direction,
                         double negligible)
    : parts_(std::move(parts)),
      gaussian_(gaussian),
      direction_(direction),
      negligible_(negligible) {}

std::int64_t Composition::count() const {
  std::int64_t total = 0;
  for (const Part& part : parts_) total += part.count;
  return total;
}

double Composition::cut_of(const Part& part) const {
  return part.pair->cut(negligible_ / static_cast<double>(count()));
}

Law Composition::law(const Part& part, double c, double frequency) const {
  const Direction direction = direction_of(part);
  const double cut = cut_of(part);
  const double log_total = Law(*part.pair, direction, c + 1, cut).log_moment(c + 1);
  const double lightest = kLightest / static_cast<double>(part.count);
  return {*part.pair, direction, c + 1, cut,
          Resolution{
              .frequency = frequency, .order = c + 1, .faintest = std::log(lightest) + log_total}};
}

double Composition::cumulant(double c) const {
  const double order = c + 1;
  if (!parts_.empty() && (laws_.empty() || laws_.front().highest_order() < order)) {
    laws_.clear();
    for (const Part& part : parts_)
      laws_.emplace_back(*part.pair, direction_of(part), 2 * order, cut_of(part));
  }
  double total = c * order * gaussian_ / 2;
  for (std::size_t i = 0; i < parts_.size(); ++i)
    total += static_cast<double>(parts_[i].count) * laws_[i].log_moment(order);
  return total;
}

Composition::Exact Composition::exact(double c) const {
  Exact result{.cumulant = c * (c + 1) * gaussian_ / 2, .lost = 0};
  for (const Part& part : parts_) {
    const Law one = law(part, c, /*frequency=*/0);
    result.cumulant += static_cast<double>(part.count) * one.log_moment(c + 1);
    result.lost += static_cast<double>(part.count) * one.lost();
  }
  return result;
}

Tilt best_tilt(const Composition& composition, Delta delta) {
  const auto bound = [&](double c, double cumulant, double of) {
    return (cumulant + log_kernel(c) - std::log(of)) / c;
  };
  const double c =
      minimize([&](double at) { return bound(at, composition.cumulant(at), delta.value()); },
               {.start = 1, .lowest = kSmallestTilt, .highest = kLargestTilt}, 30);
  const auto [cumulant, lost] = composition.exact(c);
  double epsilon = bound(c, cumulant, delta.value() - lost);
  // Not a number, where too much is lost or moments overflow, must not pass for a small bound.
  if (std::isnan(epsilon)) epsilon = kInfinity;
  return {.c = c, .cumulant = cumulant, .epsilon = std::max(0.0, epsilon), .lost = lost};
}

Tilt tilt_for(const Composition& composition, Epsilon epsilon) {
  const auto bound = [&](double c) {
    return composition.cumulant(c) + log_kernel(c) - c * epsilon.value();
  };
  const double c =
      minimize(bound, {.start = 1, .lowest = kSmallestTilt, .highest = kLargestTilt}, 30);
  const auto [cumulant, lost] = composition.exact(c);
  return {.c = c, .cumulant = cumulant, .epsilon = epsilon.value(), .lost = lost};
}

Reach reach_of(const Composition& composition, const Tilt& tilt) {
  const auto above = [&](double theta) {
    return (composition.cumulant(tilt.c + theta) - tilt.cumulant + kLogNothing) / theta -
           tilt.epsilon;
  };
  const auto below = [&](double theta) {
    const double rest = tilt.c - theta;
    const double cumulant = rest > 0 ? composition.cumulant(rest) : 0.0;
    return (cumulant - tilt.cumulant + kLogNothing) / theta + tilt.epsilon;
  };
  const SearchRange range{.start = tilt.c / 2, .lowest = tilt.c * 1e-4, .highest = tilt.c * 8};
  const double theta_above = minimize(above, range, 12);
  double theta_below = minimize(
      below, {.start = tilt.c / 4, .lowest = tilt.c * 1e-4, .highest = tilt.c * 0.999}, 12);
  if (below(tilt.c) < below(theta_below)) theta_below = tilt.c;
  // A reach that is too far does no harm; none at all would.
  const double least = 1e-3 * kLogNothing / tilt.c;
  return {.below = std::max(least, below(theta_below)),
          .above = std::max(least, above(theta_above)),
          .theta_below = theta_below,
          .theta_above = theta_above};
}

std::unique_ptr<DeltaCurve> single_curve(const Composition& composition) {
  if (composition.gaussian() > 0 || composition.count() != 1) return nullptr;
  const Part& part = composition.parts().front();
  return std::make_unique<SingleCurve>(*part.pair, composition.direction_of(part));
}

}  // namespace obol::privacy
