#include "obol/privacy/pld.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/privacy/gaussian.h"
#include "obol/privacy/pld/composition.h"
#include "obol/privacy/pld/contour.h"
#include "obol/privacy/pld/lattice.h"

namespace obol::privacy {
namespace {

constexpr double kNegligible = 1e-6;  // of delta, for rare large losses

double tolerance_at(double epsilon) { return std::max(2e-4, 1e-4 * epsilon); }

struct Ingredients {
  std::vector<Part> parts;
  double gaussian = 0;  // sum of count / multiplier^2
  bool is_symmetric = true;
};

void add(Ingredients& to, std::shared_ptr<const Pair> pair, std::int64_t count, bool is_shard) {
  to.parts.push_back({std::move(pair), count, is_shard});
}

Ingredients ingredients_of(const std::vector<Event>& events, int group_size) {
  Ingredients result;
  const auto k = static_cast<double>(group_size);
  const auto plain = [&](double multiplier, std::int64_t count) {
    result.gaussian += static_cast<double>(count) * (k / multiplier) * (k / multiplier);
  };
  const auto laplace = [&](double rate, double scale, std::int64_t count) {
    add(result, std::make_shared<LaplacePair>(rate, scale / k), count, false);
    result.is_symmetric = result.is_symmetric && rate == 1;
  };
  for (const Event& event : events) {
    std::visit(
        [&](const auto& one) {
          using T = std::decay_t<decltype(one)>;
          if (one.count == 0) return;
          if constexpr (std::is_same_v<T, SampledGaussian>) {
            if (one.sampling_rate == 1) return plain(one.noise_multiplier, one.count);
            add(result,
                std::make_shared<GaussianPair>(one.sampling_rate, one.noise_multiplier, group_size),
                one.count, false);
            result.is_symmetric = false;
          } else if constexpr (std::is_same_v<T, ShardGaussian>) {
            if (one.sampling_rate == 1) return plain(one.noise_multiplier, one.count);
            add(result, std::make_shared<GaussianPair>(one.sampling_rate, one.noise_multiplier, 1),
                one.count, true);
          } else if constexpr (std::is_same_v<T, SampledLaplace>) {
            laplace(one.sampling_rate, one.scale, one.count);
          } else if constexpr (requires { one.scale; }) {
            laplace(1, one.scale, one.count);
          } else if constexpr (requires { one.epsilon; }) {
            // Of a group, whatever its answers: any pure guarantee is dominated by two of them.
            add(result,
                std::make_shared<ResponsePair>(
                    k * one.epsilon, group_size == 1 ? static_cast<double>(one.classes) : 2),
                one.count, false);
          } else {
            plain(one.noise_multiplier, one.count);
          }
        },
        event);
  }
  return result;
}

// Noise so small next to the sensitivity that it protects nobody would need points without end.
void check_noise(const Event& event, int group_size) {
  std::visit(
      [&](const auto& one) {
        using T = std::decay_t<decltype(one)>;
        double noise = 1;
        double least = 0;
        if constexpr (requires { one.scale; }) {
          noise = one.scale;
          least = 1e-3;
        } else if constexpr (requires { one.epsilon; }) {
          noise = 1 / one.epsilon;
          least = 1e-3;
        } else if constexpr (std::is_same_v<T, SampledGaussian> ||
                             std::is_same_v<T, ShardGaussian>) {
          noise = one.noise_multiplier;
          least = 0.01;
        }
        if (noise / group_size < least)
          throw UnsupportedEvent(
              fmt::format("PldAccountant composes {} with noise from {} on (over the size of a "
                          "group); this ledger has {}",
                          name_of(event), least, noise / group_size));
      },
      event);
}

// Where a falling curve passes delta: from `from`, at which it must not be above, downwards.
template <class Curve>
double lowest_not_above(const Curve& curve, double from, double delta) {
  double high = from;
  double step = 1e-6 * (1 + from);
  double low = std::max(0.0, high - step);
  while (low > 0 && curve(low) <= delta) {
    high = low;
    step *= 2;
    low = std::max(0.0, high - step);
  }
  if (curve(low) <= delta) return low;
  while (high - low > 1e-12 * (1 + high)) {
    const double middle = (low + high) / 2;
    (curve(middle) <= delta ? high : low) = middle;
  }
  return high;
}

EpsilonBounds bounds_from(const DeltaCurve& curve, double chernoff, double delta) {
  EpsilonBounds result{.lower = 0, .upper = chernoff};
  const auto upper = [&](double epsilon) { return curve.at(epsilon).upper; };
  if (upper(chernoff) <= delta) result.upper = lowest_not_above(upper, chernoff, delta);
  // The lower curve is below delta at and above result.upper, and again far below, where it is of
  // no use; the first crossing downwards counts.
  double high = result.upper;
  double step = 1e-9 * (1 + high);
  while (high > 0) {
    const double low = std::max(0.0, high - step);
    if (curve.at(low).lower >= delta) {
      double inside = low;
      while (high - inside > 1e-12 * (1 + high)) {
        const double middle = (inside + high) / 2;
        (curve.at(middle).lower >= delta ? inside : high) = middle;
      }
      result.lower = inside;
      break;
    }
    high = low;
    step *= 1.5;
  }
  return result;
}

struct Attempt {
  int log_points;  // of a contour,
  int log_size;    // or of a lattice
};

// A contour is at its best with many releases, whose characteristic function decays; a lattice with
// few, whose losses it need not resolve well. Both bounds hold, so whatever was tried is of use.
std::vector<Attempt> attempts_for(std::int64_t count) {
  constexpr std::int64_t kFew = 1000;
  if (count <= kFew) return {{10, 0}, {0, 12}, {0, 14}, {0, 16}, {0, 18}, {0, 20}, {16, 0}};
  return {{12, 0}, {15, 0}, {0, 14}, {0, 16}, {17, 0}, {0, 18}, {18, 0}, {0, 20}};
}

using CurvePointer = std::unique_ptr<DeltaCurve>;

CurvePointer curve_of(const Attempt& attempt, const Composition& composition, const Tilt& tilt,
                      const Reach& reach) {
  if (attempt.log_points > 0) return contour_curve(composition, tilt, reach, attempt.log_points);
  return lattice_curve(composition, tilt, reach, attempt.log_size);
}

// Bounds in one direction; no better than the Chernoff bound where that is below `unimportant`.
EpsilonBounds epsilon_in(const Ingredients& ingredients, Direction direction, Delta delta,
                         double unimportant) {
  const Composition composition(ingredients.parts, ingredients.gaussian, direction,
                                kNegligible * delta.value());
  Tilt tilt = best_tilt(composition, delta);
  EpsilonBounds best{.lower = 0, .upper = tilt.epsilon};
  if (best.upper <= unimportant || std::isinf(best.upper)) return best;
  if (const auto single = single_curve(composition))
    return bounds_from(*single, best.upper, delta.value());
  if (tilt.is_limit()) return best;
  Reach reach = reach_of(composition, tilt);
  for (const Attempt& attempt : attempts_for(composition.count())) {
    const CurvePointer curve = curve_of(attempt, composition, tilt, reach);
    const EpsilonBounds found = bounds_from(*curve, best.upper, delta.value());
    best.lower = std::max(best.lower, found.lower);
    best.upper = std::min(best.upper, found.upper);
    if (best.upper - best.lower <= tolerance_at(best.upper)) break;
    // Where Chernoff's bound is far off, so is its tilt.
    if (best.upper < 0.8 * tilt.epsilon && best.upper > 0) {
      tilt = tilt_for(composition, Epsilon{best.upper});
      if (tilt.is_limit()) break;
      reach = reach_of(composition, tilt);
    }
  }
  return best;
}

// At delta 0: all largest losses at once. They are losses of atoms, so that nothing less holds.
EpsilonBounds largest_loss(const Ingredients& ingredients) {
  constexpr double kRounding = 1e-12;
  double total = 0;
  for (const Part& part : ingredients.parts) {
    const double largest = std::max(part.pair->loss(kInfinity), -part.pair->loss(-kInfinity));
    if (!part.pair->has_atoms())
      throw InvalidArgument(violation("delta", "positive for Gaussian noise", 0));
    total += static_cast<double>(part.count) * largest;
  }
  if (ingredients.gaussian > 0)
    throw InvalidArgument(violation("delta", "positive for Gaussian noise", 0));
  return {.lower = total * (1 - kRounding), .upper = total * (1 + kRounding)};
}

// An upper bound on delta in one direction.
double delta_in(const Ingredients& ingredients, Direction direction, Epsilon epsilon) {
  // Losses that are left out as negligible must be so next to the result, which Chernoff bounds.
  const Composition whole(ingredients.parts, ingredients.gaussian, direction, 1e-30);
  if (const auto single = single_curve(whole)) return single->at(epsilon.value()).upper;
  const Tilt first = tilt_for(whole, epsilon);
  const double chernoff =
      std::exp(std::min(0.0, first.cumulant - first.c * first.epsilon)) + first.lost;
  if (first.is_limit()) return chernoff;
  const Composition composition(ingredients.parts, ingredients.gaussian, direction,
                                kNegligible * kNegligible * chernoff);
  const Tilt tilt = tilt_for(composition, epsilon);
  const Reach reach = reach_of(composition, tilt);
  double best = chernoff;
  for (const Attempt& attempt : attempts_for(composition.count())) {
    const DeltaBounds found = curve_of(attempt, composition, tilt, reach)->at(epsilon.value());
    best = std::min(best, found.upper);
    if (found.upper - found.lower <= 1e-3 * found.upper) break;
  }
  return std::min(1.0, best);
}

// Of a sum over so many kinds of events, and of its root's inverse.
double rounding_of_sum(std::size_t kinds) { return 0x1p-52 * static_cast<double>(kinds + 4); }

}  // namespace

PldAccountant::PldAccountant(int group_size) : group_size_(group_size) {
  if (group_size < 1)
    throw InvalidArgument(violation("the size of a group", "at least 1", group_size));
}

void PldAccountant::compose(const Event& event) {
  check(event);
  if (std::holds_alternative<FixedBatchGaussian>(event))
    throw UnsupportedEvent(
        "PldAccountant composes Poisson samples, shards and full data; this ledger has batches of "
        "fixed size, for which RdpAccountant has a bound");
  if (group_size_ > 1 && (std::holds_alternative<ShardGaussian>(event) ||
                          std::holds_alternative<SampledLaplace>(event)))
    throw UnsupportedEvent(fmt::format(
        "PldAccountant composes groups of records for Poisson-sampled Gaussian noise and for "
        "unsampled noise; this ledger has {}",
        name_of(event)));
  check_noise(event, group_size_);
  for (const Event& before : events_)
    common_neighbours(neighbours_of(before), neighbours_of(event));
  for (Event& before : events_)
    if (same_mechanism(before, event)) {
      before = with_count(before, count_of(before) + count_of(event));
      return;
    }
  events_.push_back(event);
}

EpsilonBounds PldAccountant::epsilon(Delta delta) const {
  const Ingredients ingredients = ingredients_of(events_, group_size_);
  if (delta.value() == 0) return largest_loss(ingredients);
  if (ingredients.parts.empty()) {
    if (ingredients.gaussian == 0) return {.lower = 0, .upper = 0};
    const double multiplier = 1 / std::sqrt(ingredients.gaussian);
    const double rounding = rounding_of_sum(events_.size());
    return {.lower = gaussian_epsilon_lower(multiplier * (1 + rounding), delta).value(),
            .upper = gaussian_epsilon(multiplier * (1 - rounding), delta).value()};
  }
  EpsilonBounds worst = epsilon_in(ingredients, Direction::kRemove, delta, tolerance_at(0));
  if (!ingredients.is_symmetric) {
    const EpsilonBounds add =
        epsilon_in(ingredients, Direction::kAdd, delta, std::max(worst.lower, tolerance_at(0)));
    worst = {.lower = std::max(worst.lower, add.lower), .upper = std::max(worst.upper, add.upper)};
  }
  return worst;
}

double PldAccountant::delta(Epsilon epsilon) const {
  const Ingredients ingredients = ingredients_of(events_, group_size_);
  if (ingredients.parts.empty())
    return ingredients.gaussian == 0 ? 0.0
                                     : gaussian_delta((1 - rounding_of_sum(events_.size())) /
                                                          std::sqrt(ingredients.gaussian),
                                                      epsilon);
  const double remove = delta_in(ingredients, Direction::kRemove, epsilon);
  if (ingredients.is_symmetric) return remove;
  return std::max(remove, delta_in(ingredients, Direction::kAdd, epsilon));
}

}  // namespace obol::privacy
