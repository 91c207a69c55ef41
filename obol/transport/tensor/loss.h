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

#include <torch/torch.h>

#include "obol/transport/tensor/problem.h"

namespace obol::transport {

// W(x, y).
torch::Tensor entropic_cost(const Problem& problem, const SinkhornOptions& options);

// W(x, x) of a measure with itself; y, b and labels_y are not looked at.
torch::Tensor entropic_self_cost(const Problem& problem, const SinkhornOptions& options);

// 2 W(x, y) - W(x, x) - W(y, y): zero for equal measures (Feydy et al. 2019).
torch::Tensor sinkhorn_divergence(const Problem& problem, const SinkhornOptions& options);

}  // namespace obol::transport
