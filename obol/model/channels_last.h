// Tensors of images as rows of channels.
#pragma once

#include <cstdint>

#include <torch/torch.h>

namespace obol::model {

inline torch::Tensor channels_last(const torch::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast);
}

// The same memory: [n, c, h, w] -> [n h w, c].
inline torch::Tensor as_rows(const torch::Tensor& x) {
  return x.permute({0, 2, 3, 1}).reshape({-1, x.size(1)});
}

// A weight of a convolution as the columns of a product: [in, out, kernel, kernel] ->
// [in, kernel kernel out].
inline torch::Tensor as_columns(const torch::Tensor& weight) {
  return channels_last(weight).permute({0, 2, 3, 1}).reshape({weight.size(0), -1});
}

// Every pixel four times. On a GPU both it and its gradient are one pass that keeps the channels
// last, which torch's own gradient does not.
inline torch::Tensor doubled(const torch::Tensor& x) {
  const std::int64_t height = x.size(2);
  const std::int64_t width = x.size(3);
  if (!x.is_cuda()) return at::upsample_nearest2d(x, {2 * height, 2 * width});
  return channels_last(x)
      .permute({0, 2, 3, 1})
      .view({-1, height, 1, width, 1, x.size(1)})
      .expand({-1, -1, 2, -1, 2, -1})
      .reshape({-1, 2 * height, 2 * width, x.size(1)})
      .permute({0, 3, 1, 2});
}

// body(T{}) with the type of x, which is float or double.
template <class Body>
auto with_type(const torch::Tensor& x, const Body& body) {
  return x.scalar_type() == at::kDouble ? body(double{}) : body(float{});
}

}  // namespace obol::model
