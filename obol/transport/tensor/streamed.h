// Gradients of entropic transport and potentials on a GPU, float, with nothing that waits for the
// host: every call goes to the current stream, has shapes that do not depend on values, and can be
// recorded. What loss.h and problem.h do, of problems that are known to be right. Without CUDA, in
// this build or in its LibTorch, the functions throw.
//
//   Tensor g = streamed::gradient({.x = x, .y = y, .present = present}, {.regularization = 0.05});
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "obol/transport/sinkhorn.h"
#include "obol/transport/tensor/cost.h"

namespace obol::transport::streamed {

// Rows are dense floats. Labels are of int64, or undefined on both sides.
struct Sides {
  torch::Tensor x;  // [n, d]
  torch::Tensor y;  // [m, d]
  Cost cost = {};
  torch::Tensor labels_x = {};  // [n]
  torch::Tensor labels_y = {};  // [m]
  double label_weight = 0;
  torch::Tensor present = {};  // [m]: 1, or 0 for points that are not there; undefined: all are
};

// dW(x, y)/dx, [n, d]; zero where no point of y is there. Weights are uniform.
torch::Tensor gradient(const Sides& sides, const SinkhornOptions& options);

// dW(x[0:n], x[r:n+r])/dx with r = `resampled`, [n + r, d]; dW(x, x)/dx where r is 0. labels [n +
// r].
struct Own {
  torch::Tensor x;
  std::int64_t resampled = 0;
  Cost cost = {};
  torch::Tensor labels = {};
  double label_weight = 0;
};
torch::Tensor self_gradient(const Own& own, const SinkhornOptions& options);

// Potentials of the rows of x after that many iterations, each class by itself: x [n, d] and
// y [m, d] have n / classes and m / classes rows of each, in order. Squared distances.
torch::Tensor potentials(const torch::Tensor& x, const torch::Tensor& y, std::int64_t classes,
                         double regularization, std::int64_t iterations);

}  // namespace obol::transport::streamed
