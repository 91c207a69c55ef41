// A network simplex for dense transportation problems.
//
// Guarantee of termination: flows are whole numbers, hence exact; the tree is kept strongly
// feasible (Cunningham 1976), so that degenerate pivots cannot cycle; and an entry comes in only if
// its reduced cost is negative by more than the rounding of the potentials, which is tracked.
#pragma once

#include <cstdint>
#include <vector>

#include "obol/transport/exact.h"
#include "obol/transport/masses.h"

namespace obol::transport {

struct TreeSolution {
  std::vector<PlanEntry> plan;
  std::vector<double> f;  // anything for rows without mass
  std::vector<double> g;  // -infinity for columns without mass
  std::int64_t pivots = 0;
  bool optimal = false;
};

template <class Scalar>
TreeSolution network_simplex(const CostView<Scalar>& cost, const Masses& masses,
                             std::int64_t max_pivots);

}  // namespace obol::transport
