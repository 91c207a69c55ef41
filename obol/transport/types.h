// What solvers and kernels take on every device. C++17, because nvcc reads it, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace obol::transport {

enum class Stopping {
  kConverge,  // until the marginal error is at most `tolerance`
  kAnnealed,  // the regularization falls to its target, one sweep at each, one more at the target
  kFixed,     // max_iterations, whatever the marginal error; on GPUs only
};

struct SinkhornOptions {
  double regularization;  // the temperature; in units of the cost
  Stopping stopping = Stopping::kConverge;
  double tolerance = 1e-6;  // L1 distance of the plan's row sums to a, which sums to 1
  std::int64_t max_iterations = 10000;
  double over_relaxation = 1;  // from 1 (plain) to below 2: moves further than the update says
  // Epsilon scaling: start at the largest cost and multiply by this per iteration until the target
  // is reached; 1 starts at the target. kAnnealed uses it as well (0.5 where it is 1).
  double annealing = 1;
  // On a CPU: runs body(begin, end) over ranges that cover [0, count); empty: here and now.
  std::function<void(std::size_t count, const std::function<void(std::size_t, std::size_t)>&)>
      parallel = {};
};

// InvalidArgument on options that cannot be meant.
void check(const SinkhornOptions& options);

enum class GroundCost {
  kAbsolute,  // sum_k |x_k - y_k|
  kSquared,   // sum_k (x_k - y_k)^2, of differences: exact where |x|^2 - 2 x.y + |y|^2 cancels
  kMixture,   // the squared one plus `mixing` times the absolute one
};

struct Ground {
  GroundCost kind;
  double mixing = 0;         // not negative; of the mixture only
  double label_penalty = 0;  // on GPUs, added where the labels of two points differ
};

}  // namespace obol::transport
