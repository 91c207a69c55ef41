// Optimal transport between weighted points on a line: sort both sides and fill from the left.
//
//   const LineResult r = line_transport(x, y, a, b, 2.0);    // empty spans: uniform weights
//   std::sqrt(r.cost)                                         // the 2-Wasserstein distance
//
// For the cost |x - y|^p with p >= 1 the monotone plan is optimal, and takes O(n log n).
#pragma once

#include <span>
#include <vector>

#include "obol/transport/exact.h"

namespace obol::transport {

struct LineResult {
  double cost = 0;              // sum of mass |x - y|^p: the p-th power of the distance
  std::vector<PlanEntry> plan;  // from left to right; rows index x, columns y
};

// Weights as in exact_transport. Throws InvalidArgument where they are not, a point is not finite,
// a side is empty, or p is not finite and at least 1.
LineResult line_transport(std::span<const double> x, std::span<const double> y,
                          std::span<const double> a, std::span<const double> b, double p);

}  // namespace obol::transport
