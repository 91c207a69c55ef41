// For tests and benchmarks: the loss of DP-Sinkhorn as one scalar, which training computes in
// parts.
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "obol/transport/tensor/loss.h"

namespace obol::transport {

// 2 W(x[0:n], y) - W(x[0:n], x[r:n+r]) with r = `resampled` and x of n + r points: what stands in
// for the second sample shares n - r points with the first (Cao et al. 2021). labels_x are those of
// the first n; points n to n + r - 1 have those of points 0 to r - 1, so that both sides of the
// self term have the same classes. Weights are uniform.
inline torch::Tensor semi_debiased_divergence(const Problem& problem, std::int64_t resampled,
                                              const SinkhornOptions& options) {
  const std::int64_t n = problem.x.size(0) - resampled;
  Problem first = problem;
  first.x = problem.x.slice(0, 0, n);
  if (resampled == 0) return 2 * entropic_cost(first, options) - entropic_self_cost(first, options);
  Problem self = first;
  self.y = problem.x.slice(0, resampled, n + resampled);
  if (const torch::Tensor& labels = problem.labels_x; labels.defined())
    self.labels_y = torch::cat({labels.slice(0, resampled, n), labels.slice(0, 0, resampled)});
  return 2 * entropic_cost(first, options) - entropic_cost(self, options);
}

}  // namespace obol::transport
