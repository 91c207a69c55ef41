// Random Fourier features of images (Rahimi and Recht 2007): a public map whose inner products are,
// on average over the frequencies, those of a Gaussian kernel.
//
//   FourierFeatures features(784, {.frequencies = 2500, .frequency = 0.1});
//   features(images)                // [m, 5000], each of length 1, differentiable
//   features.of_records(images)     // the same in double, each from its own record alone
//
// phi(x) = [cos(w_k x), sin(w_k x)]_k / sqrt(frequencies), with w_k normal of standard deviation
// `frequency` from a fixed public seed: the kernel is exp(-frequency^2 |x - y|^2 / 2).
#pragma once

#include <cstdint>

#include <torch/torch.h>

namespace obol::method::dp_merf {

struct FourierOptions {
  std::int64_t frequencies;
  double frequency;
  torch::Device device = torch::kCPU;
};

class FourierFeatures {
 public:
  FourierFeatures(std::int64_t pixels, const FourierOptions& options);

  // Of [m, pixels].
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& images) const;
  // For a barrier that asks for rows which depend on their own record to the last bit: pixels
  // (clamped to [-1, 1]) and frequencies lie on grids, on which a product in double is exact in
  // whatever order it is summed up, and so whatever records are beside this one.
  [[nodiscard]] torch::Tensor of_records(const torch::Tensor& images) const;

  [[nodiscard]] std::int64_t dimension() const { return 2 * frequencies_.size(1); }

 private:
  torch::Tensor frequencies_;  // [pixels, frequencies], double, on their grid
  torch::Tensor single_;       // the same in float
  double scale_;               // 1 / sqrt(frequencies)
};

}  // namespace obol::method::dp_merf
