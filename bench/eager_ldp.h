// The loss of learning from privatised records in torch's own operators: Sinkhorn on logarithms.
//
//   eager_loss(generated, records, loss).backward();     // loss: method::ldp_wgan::Loss, entropic
#pragma once

#include <torch/torch.h>

#include "obol/method/ldp_wgan/loss.h"

namespace obol::bench {

// <P, C> with P standing still; all iterations. x [n, d], y [m, d]; labels have no part.
torch::Tensor eager_loss(const torch::Tensor& x, const torch::Tensor& y,
                         const method::ldp_wgan::Loss& loss);

}  // namespace obol::bench
