// relu(max_pool2d(x, 2)), several times faster than those two on a processor.
#pragma once

#include <torch/torch.h>

namespace obol::model {

// [n, channels, height, width] -> [n, channels, height / 2, width / 2]; an odd last row or column
// is left out.
torch::Tensor max_pool_relu(const torch::Tensor& x);

}  // namespace obol::model
