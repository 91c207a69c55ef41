// What a device reaches at best: products of float32 matrices, and copies.
//
//   Ceilings top = ceilings(torch::Device("cuda"));
//   Compared step = compare(device, [&] { step(); }, [&] { eager_step(); });
//   double share = flops / step.ours / step.product;
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

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

// A product of matrices, and its operations.
struct Product {
  Work work;
  double flops;
};
inline Product product_on(const torch::Device& device) {
  const std::int64_t side = device.is_cuda() ? 8192 : 2048;
  const torch::Tensor a = torch::randn({side, side}, device);
  torch::Tensor result = torch::empty_like(a);
  return {finished(device, [a, result]() mutable { torch::mm_out(result, a, a); }),
          2 * static_cast<double>(side) * static_cast<double>(side * side)};
}

struct Ceilings {
  double product;  // operations a second
  double copy;     // bytes a second, read and written
};

inline Ceilings ceilings(const torch::Device& device) {
  constexpr std::int64_t kNumbers = std::int64_t{1} << 26;  // 256 MB: beyond the caches
  const Product product = product_on(device);
  const torch::Tensor from = torch::rand({kNumbers}, device);
  const torch::Tensor to = torch::empty_like(from);
  const std::vector<double> seconds =
      seconds_of_each({product.work, finished(device, [&] { to.copy_(from); })});
  return {product.flops / seconds[0], 2.0 * sizeof(float) * kNumbers / seconds[1]};
}

// Seconds of two ways of doing the same, and what the product reached between them.
struct Compared {
  double ours;
  double reference;
  double product;  // operations a second
};

inline Compared compare(const torch::Device& device, const Work& ours, const Work& reference) {
  const Product product = product_on(device);
  const std::vector<double> seconds =
      seconds_of_each({finished(device, ours), finished(device, reference), product.work});
  return {seconds[0], seconds[1], product.flops / seconds[2]};
}

}  // namespace obol::bench
