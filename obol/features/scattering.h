// Wavelet scattering of images (Bruna and Mallat 2013; Oyallon and Mallat 2015): a public map,
// stable under small shifts and deformations, with a gradient.
//
//   Scattering scattering({.channels = 1, .height = 28, .width = 28}, {.order = 2});
//   scattering(images)             // [n, 81, 7, 7], differentiable
//   scattering.of_records(images)  // the same, each from its own record alone
//
// Two scales and eight angles. With wavelets psi_j,k, low pass phi and all at a quarter of the
// resolution, the channels are x * phi, |x * psi_0,k| * phi and |x * psi_1,k| * phi (order 1: 17),
// and then ||x * psi_0,j| * psi_1,k| * phi (order 2: 64 more). Colours are treated one by one, and
// their channels follow one another. docs/features.md has the filters.
#pragma once

#include <cstdint>
#include <memory>

#include <torch/torch.h>

#include "obol/data/dataset.h"

namespace obol::features {

class BlockScattering;
class DenseScattering;

struct ScatteringOptions {
  int order = 1;  // 1 or 2
  torch::Device device = torch::kCPU;
};

class Scattering {
 public:
  explicit Scattering(const data::ImageShape& shape, const ScatteringOptions& options = {});

  // Of [n, channels * height * width] or [n, channels, height, width]. Floats on the CPU go through
  // a kernel of our own, whose gradient cannot be differentiated again; floats on a GPU through
  // products of matrices (dense_scattering.h), as far as images are small; all else through
  // LibTorch's convolutions.
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& images) const;
  // For a barrier that asks for rows which depend on their own record to the last bit: always by
  // the kernel of the CPU, in float, without a gradient. The result is where the images are.
  [[nodiscard]] torch::Tensor of_records(const torch::Tensor& images) const;
  // By LibTorch's convolutions, in the type and on the device of the images; the slow reference,
  // for doubles.
  [[nodiscard]] torch::Tensor reference(const torch::Tensor& images) const;

  [[nodiscard]] std::int64_t channels() const;
  [[nodiscard]] std::int64_t height() const;
  [[nodiscard]] std::int64_t width() const;
  [[nodiscard]] std::int64_t dimension() const { return channels() * height() * width(); }

 private:
  [[nodiscard]] torch::Tensor as_rows(const torch::Tensor& images) const;
  [[nodiscard]] torch::Tensor shaped(const torch::Tensor& features) const;

  data::ImageShape shape_;
  std::shared_ptr<const BlockScattering> blocks_;
  std::shared_ptr<const DenseScattering> dense_;  // on a GPU
  // Double, on the device: [16, 1, 9, 9], [16, 1, 18, 18], [1, 1, 12, 12], [1, 1, 8, 8].
  torch::Tensor fine_;
  torch::Tensor coarse_;
  torch::Tensor low_;
  torch::Tensor low_halved_;
};

}  // namespace obol::features
