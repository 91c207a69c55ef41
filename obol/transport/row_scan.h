// The inner loops of the exact solvers: one pass over a row of the cost less the potentials.
//
// Written over a few independent lanes, because a minimum of floating-point numbers is vectorised
// only where the order of the comparisons is left open.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace obol::transport {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr std::size_t kLanes = 8;

inline double min_of(const std::array<double, kLanes>& lanes) {
  return *std::min_element(lanes.begin(), lanes.end());
}

// min_j cost[j] - g[j]. A column with g = -infinity never counts.
template <class Scalar>
double min_reduced(const Scalar* cost, const double* g, std::size_t count) {
  std::array<double, kLanes> lanes;
  lanes.fill(kInfinity);
  std::size_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double reduced = static_cast<double>(cost[j + l]) - g[j + l];
      lanes[l] = reduced < lanes[l] ? reduced : lanes[l];
    }
  }
  for (; j < count; ++j) lanes[0] = std::min(lanes[0], static_cast<double>(cost[j]) - g[j]);
  return min_of(lanes);
}

// The first column at which min_reduced found its answer.
template <class Scalar>
std::size_t find_reduced(const Scalar* cost, const double* g, std::size_t count, double reduced) {
  std::size_t j = 0;
  while (j + 1 < count && static_cast<double>(cost[j]) - g[j] != reduced) ++j;
  return j;
}

}  // namespace obol::transport
