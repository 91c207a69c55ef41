// Dropout with probability 1/2: a bit for each number instead of a random number for each, which is
// where a small network on a processor else spends a third of its time.
#pragma once

#include <torch/torch.h>

namespace obol::model {

// Each number becomes 0 or twice itself. Bits come from torch's generator.
torch::Tensor drop_half(const torch::Tensor& x);

}  // namespace obol::model
