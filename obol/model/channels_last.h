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

// body(T{}) with the type of x, which is float or double.
template <class Body>
auto with_type(const torch::Tensor& x, const Body& body) {
  return x.scalar_type() == at::kDouble ? body(double{}) : body(float{});
}

}  // namespace obol::model
