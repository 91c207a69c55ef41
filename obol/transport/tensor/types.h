// From tensors to the pointers and types of the kernels, and from LibTorch's threads to theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include <ATen/Parallel.h>
#include <torch/torch.h>

namespace obol::transport {

// Calls body with a value of the tensor's type, float or double.
template <class Body>
auto with_type(const torch::Tensor& tensor, const Body& body) {
  return tensor.scalar_type() == torch::kFloat ? body(float{}) : body(double{});
}

// Rows for the kernels: contiguous within a row.
inline torch::Tensor with_dense_rows(const torch::Tensor& tensor) {
  return tensor.stride(1) == 1 || tensor.size(1) <= 1 ? tensor : tensor.contiguous();
}

// Splits [0, count) among the threads, if `work` operations on the whole are worth it.
inline void parallel_rows(std::size_t count, double work,
                          const std::function<void(std::size_t, std::size_t)>& body) {
  constexpr double kWorthAThread = 16384;
  const auto rows = static_cast<std::int64_t>(count);
  const double per_row = work / static_cast<double>(rows > 0 ? rows : 1);
  const auto grain = static_cast<std::int64_t>(kWorthAThread / (per_row > 1 ? per_row : 1)) + 1;
  at::parallel_for(0, rows, grain, [&](std::int64_t begin, std::int64_t end) {
    body(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
  });
}

}  // namespace obol::transport
