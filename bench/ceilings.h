// What a device reaches at best: products of float32 matrices, and copies.
//
//   const torch::Device device("cuda");
//   const Ceilings top = ceilings(device);
//   const double least = flops / top.product;     // seconds
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "bench/clock.h"

namespace obol::bench {

// Work on a GPU is over when it says so.
inline void wait_for(const torch::Device& device) {
  if (device.is_cuda()) torch::cuda::synchronize();
}

// `work` until its results are there.
inline Work finished(const torch::Device& device, Work work) {
  return [device, work = std::move(work)] {
    work();
    wait_for(device);
  };
}

struct Ceilings {
  double product;  // operations a second
  double copy;     // bytes a second, read and written
};

inline Ceilings ceilings(const torch::Device& device) {
  const std::int64_t side = device.is_cuda() ? 8192 : 2048;
  constexpr std::int64_t kNumbers = std::int64_t{1} << 26;  // 256 MB: beyond the caches
  const torch::Tensor a = torch::randn({side, side}, device);
  torch::Tensor product = torch::empty_like(a);
  const torch::Tensor from = torch::rand({kNumbers}, device);
  const torch::Tensor to = torch::empty_like(from);
  const std::vector<double> seconds =
      seconds_of_each({finished(device, [&] { torch::mm_out(product, a, a); }),
                       finished(device, [&] { to.copy_(from); })});
  const auto flops = 2 * static_cast<double>(side) * static_cast<double>(side * side);
  return {flops / seconds[0], 2.0 * sizeof(float) * kNumbers / seconds[1]};
}

}  // namespace obol::bench
