// Entropic transport and its divergences as losses: scalars that LibTorch differentiates.
//
//   torch::Tensor loss = sinkhorn_divergence({generated, real}, {.regularization = 0.05});
//   loss.backward();                                   // generated.grad()
//
// Values are dual ones. The gradient is that of the envelope theorem: the plan stands still, and
// dW/dx_i = sum_j P_ij dC_ij/dx_i; nothing is kept of the iterations, and nothing is propagated
// through them. It is taken with respect to x and y, whichever asks for it. Second derivatives are
// refused.
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "obol/transport/tensor/problem.h"

namespace obol::transport {

// W(x, y).
torch::Tensor entropic_cost(const Problem& problem, const SinkhornOptions& options);

// W(x, x) of a measure with itself; y, b and labels_y are not looked at.
torch::Tensor entropic_self_cost(const Problem& problem, const SinkhornOptions& options);

// 2 W(x, y) - W(x, x) - W(y, y): zero for equal measures (Feydy et al. 2019).
torch::Tensor sinkhorn_divergence(const Problem& problem, const SinkhornOptions& options);

// 2 W(x, y) - W(x, x') - W(y, y'), with second samples in place of the first: as many points, the
// same weights and labels.
struct Resampled {
  torch::Tensor x;
  torch::Tensor y;
};
torch::Tensor debiased_divergence(const Problem& problem, const Resampled& second,
                                  const SinkhornOptions& options);

// 2 W(x[0:n], y) - W(x[0:n], x[r:n+r]) with r = `resampled` and x of n + r points: what stands in
// for the second sample shares n - r points with the first (Cao et al. 2021). labels_x are those of
// the first n; points n to n + r - 1 have those of points 0 to r - 1, so that both sides of the
// self term have the same classes. No term in y alone, which has no gradient. Weights are uniform.
torch::Tensor semi_debiased_divergence(const Problem& problem, std::int64_t resampled,
                                       const SinkhornOptions& options);

}  // namespace obol::transport
