// Entropic and exact transport between two sets of points: a problem, options, a result.
//
//   auto result = obol::transport::sinkhorn({x, y}, {.regularization = 0.05});
//   if (!result.converged) std::cerr << result.marginal_error << '\n';
//   torch::Tensor plan = transport_plan({x, y}, result);
//
// Nothing here has a gradient; loss.h does.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include <torch/torch.h>

#include "obol/transport/exact.h"
#include "obol/transport/sinkhorn.h"
#include "obol/transport/tensor/cost.h"

namespace obol::transport {

// The label weight that forbids all transport between classes. Each class that both sides have is
// then a problem of its own: weights are renormalised within it, its value and plan are scaled by
// its mass on the x side. A class that one side lacks is left out.
inline constexpr double kSeparateClasses = std::numeric_limits<double>::infinity();

struct Problem {
  torch::Tensor x;  // [n, ...], one point a row; float or double
  torch::Tensor y;  // [m, ...]
  Cost cost = {};
  torch::Tensor a = {};         // [n], summing to 1; undefined: uniform
  torch::Tensor b = {};         // [m]
  torch::Tensor labels_x = {};  // [n] whole numbers, or undefined
  torch::Tensor labels_y = {};  // [m]
  double label_weight = 0;      // of one-hot labels as further coordinates
};

struct Solution {
  torch::Tensor f;              // [n], double; potentials of a left-out class are 0
  torch::Tensor g;              // [m]
  double dual = 0;              // <a, f> + <b, g>
  double primal = 0;            // <C, P>
  double marginal_error = 0;    // L1, of the rows
  std::int64_t iterations = 0;  // of the class that took most
  bool converged = false;
  double regularization = 0;
};

// `start`: the solution of a similar problem, whose potentials to start from. InvalidArgument names
// what does not fit, with its index.
Solution sinkhorn(const Problem& problem, const SinkhornOptions& options,
                  const Solution* start = nullptr);

// Many problems, each on one thread.
std::vector<Solution> sinkhorn(const std::vector<Problem>& problems,
                               const SinkhornOptions& options);

// Between x and itself (a, labels_x; y, b and labels_y are not looked at), by one potential.
Solution sinkhorn_self(const Problem& problem, const SinkhornOptions& options);

// [n, m]
torch::Tensor transport_plan(const Problem& problem, const Solution& solution);

// Without regularization, with a proof; see exact.h. Classes cannot be separated here.
ExactResult exact_transport(const Problem& problem, const ExactOptions& options = {});

// The 2-Wasserstein distance: the root of the exact squared Euclidean cost.
double wasserstein2(const torch::Tensor& x, const torch::Tensor& y);

}  // namespace obol::transport
