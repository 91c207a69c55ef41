// What is composed, in one direction of neighbouring: its cumulant function and, from that alone, a
// first bound (Chernoff's, which is the Renyi accountant's) and where to look for a sharper one.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "obol/base/types.h"
#include "obol/privacy/pld/law.h"

namespace obol::privacy {

// `count` releases with the same dominating pair.
struct Part {
  std::shared_ptr<const Pair> pair;
  std::int64_t count;
  // Whether the pair's law is that of shards, which is its own mirror.
  bool is_shard = false;
};

class Composition {
 public:
  // All Gaussian releases without sampling are one: the squares of 1/sigma add to `gaussian`. Rare
  // large losses with a probability of `negligible` in all are left out: they would make moments
  // large that matter to nobody.
  Composition(std::vector<Part> parts, double gaussian, Direction direction, double negligible);

  [[nodiscard]] const std::vector<Part>& parts() const { return parts_; }
  [[nodiscard]] double gaussian() const { return gaussian_; }
  [[nodiscard]] Direction direction_of(const Part& part) const {
    return part.is_shard ? Direction::kEither : direction_;
  }
  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] double negligible() const { return negligible_; }

  // The law of one release of a part, with points that are right to rounding at the order c + 1 and
  // up to a frequency.
  [[nodiscard]] Law law(const Part& part, double c, double frequency) const;

  // K(c) = log E_P[e^{c loss}], c > 0, of what is not lost; quickly, for searching.
  [[nodiscard]] double cumulant(double c) const;
  // K(c) to rounding, and the probability that anything falls outside: to be added to delta.
  struct Exact {
    double cumulant;
    double lost;
  };
  [[nodiscard]] Exact exact(double c) const;
  [[nodiscard]] double cut_of(const Part& part) const;

  // Points whose mass, times the count, is less than this are left out of tilted laws.
  static constexpr double kLightest = 1e-20;

 private:
  std::vector<Part> parts_;
  double gaussian_;
  Direction direction_;
  double negligible_;
  mutable std::vector<Law> laws_;  // for the orders asked so far
};

// A point c at which exponential tilting makes the losses near `epsilon` typical.
struct Tilt {
  double c;
  double cumulant;  // K(c)
  double epsilon;
  double lost;  // delta that K knows nothing of

  // The best tilt is beyond all bounds: the loss is all but certain, and the bound as good as
  // exact.
  [[nodiscard]] bool is_limit() const;
};

// The Chernoff bound on epsilon, and where it is attained.
Tilt best_tilt(const Composition& composition, Delta delta);
// The tilt for bounding delta at a given epsilon.
Tilt tilt_for(const Composition& composition, Epsilon epsilon);

// How far from tilt.epsilon the tilted sum of losses reaches: outside it has a mass below e^-40 on
// either side, by Chernoff bounds at c + theta_above and c - theta_below.
inline constexpr double kLogNothing = 40;
struct Reach {
  double below;
  double above;
  double theta_below;
  double theta_above;
};
Reach reach_of(const Composition& composition, const Tilt& tilt);

// Bounds on delta at an epsilon; what was lost is in the upper one.
struct DeltaBounds {
  double lower;
  double upper;
};

class DeltaCurve {
 public:
  DeltaCurve() = default;
  DeltaCurve(const DeltaCurve&) = delete;
  DeltaCurve& operator=(const DeltaCurve&) = delete;
  virtual ~DeltaCurve() = default;
  [[nodiscard]] virtual DeltaBounds at(double epsilon) const = 0;
};

// The curve of a single release, by its definition; nothing for more than one.
std::unique_ptr<DeltaCurve> single_curve(const Composition& composition);

}  // namespace obol::privacy
