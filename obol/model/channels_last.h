// Tensors of images as rows of channels.
#pragma once

#include <torch/torch.h>

namespace obol::model {

inline torch::Tensor channels_last(const torch::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

// The same memory: [n, c, h, w] -> [n h w, c].
inline torch::Tensor as_rows(const torch::Tensor& x) {
  return x.permute({0, 2, 3, 1}).reshape({-1, x.size(1)});
}

}  // namespace obol::model
