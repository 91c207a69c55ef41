// Scattering by products with dense matrices: what GPUs do best.
//
//   DenseScattering dense(scattering_weights(), 28, 28, 2, torch::kCUDA);
//   dense(planes)      // [m, pixels] -> [m, 81, 49], differentiable
//
// A convolution of small images with few channels leaves a GPU idle; as a matrix, all wavelets of
// one scale at every pixel of 28x28 are 784 x 12,544 numbers, and a batch is one product. There are
// more operations (19.7 M products for an image at full resolution, where the convolution has 1.0
// M), at a speed that is higher by more. Images for which the matrices would be too large are
// convolved.
#pragma once

#include <cstdint>

#include <torch/torch.h>

namespace obol::features {

// Filters of scattering as weights of convolutions, double, on the CPU: [16, 1, 9, 9],
// [16, 1, 18, 18], [1, 1, 12, 12], [1, 1, 8, 8].
struct ScatteringWeights {
  torch::Tensor fine;
  torch::Tensor coarse;
  torch::Tensor low;
  torch::Tensor low_halved;
};
ScatteringWeights scattering_weights();

class DenseScattering {
 public:
  // Images of height x width pixels, which is their size before they are padded.
  DenseScattering(const ScatteringWeights& weights, std::int64_t height, std::int64_t width,
                  int order, const torch::Device& device);

  // Whether the matrices for such images take at most half a GiB.
  static bool fits(std::int64_t height, std::int64_t width);

  // Of floats [m, height * width]: [m, channels, pixels / 16].
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& planes) const;

 private:
  // From images to answers of the wavelets, at full and at half the resolution, and to the low
  // pass.
  torch::Tensor fine_;
  torch::Tensor coarse_;
  torch::Tensor low_;
  // From moduli at full resolution to those of the second order and to the low pass; from moduli at
  // half the resolution to the low pass.
  torch::Tensor second_;
  torch::Tensor low_of_fine_;
  torch::Tensor low_of_coarse_;
};

}  // namespace obol::features
