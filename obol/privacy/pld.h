// Tight accounting by the privacy loss distribution: certified bounds on both sides.
//
//   PldAccountant accountant;
//   accountant.compose(SampledGaussian{0.01, 0.8, 2000});   // rate, noise multiplier, count
//   accountant.epsilon(Delta{1e-5})                         // {.lower = 4.2934, .upper = 4.2934}
//
// The guarantee is the upper value; `lower` says how close it is in the case at hand. Over the grid
// of tests/privacy/sweep_test.cpp (sampling rates from 1e-6, multipliers from 0.05 to 1000, up to
// 10^8 releases, delta from 1e-12) they are within 1e-3, or 0.05 per cent above 100.
//
// Guarantee: losses of dominating pairs (obol/privacy/pld/pair.h) add under adaptive composition
// (Zhu, Dong and Wang 2022, theorem 10), and delta(epsilon) = E_P[(1 - e^{epsilon - loss})_+]. It
// is computed for both directions of neighbouring, and the worse is reported.
#pragma once

#include <vector>

#include "obol/base/types.h"
#include "obol/privacy/event.h"

namespace obol::privacy {

struct EpsilonBounds {
  double lower;
  double upper;
};

class PldAccountant {
 public:
  // A group of k records that one person may have contributed; 1 is the usual guarantee.
  explicit PldAccountant(int group_size = 1);

  // Throws UnsupportedEvent for mixed neighbours, for FixedBatchGaussian (no tight law is known:
  // the Renyi accountant has a bound) and for groups where no pair is known to dominate.
  void compose(const Event& event);

  // delta may be 0 where there is no Gaussian noise.
  [[nodiscard]] EpsilonBounds epsilon(Delta delta) const;
  // An upper bound, to about a thousandth of it.
  [[nodiscard]] double delta(Epsilon epsilon) const;

  [[nodiscard]] const std::vector<Event>& events() const { return events_; }

 private:
  int group_size_;
  std::vector<Event> events_;
};

}  // namespace obol::privacy
