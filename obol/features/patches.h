// Random features of small windows, averaged place by place: a public map that sees edges and
// textures pixel by pixel, which scattering blurs.
//
//   PatchFeatures patches({.channels = 1, .height = 28, .width = 28},
//                         {.count = 64, .side = 5, .frequencies = {2, 4}});
//   patches(images)                // [m, 2 * 64 * 49], each of length 1 at most, differentiable
//   patches.of_records(images)     // the same in double, each from its own record alone
//
// With the windows p of side x side pixels around every pixel of a cell of 4 x 4 pixels, the
// features of the cell are the means of cos(w_k p) and sin(w_k p), over the square root of count
// times the number of cells; w_k is normal, from a fixed public seed. They are random Fourier
// features (Rahimi and Recht 2007) for a kernel that compares windows at the same place (Mairal et
// al. 2014). Outside of the image is 0.
#pragma once

#include <cstdint>
#include <vector>

#include <torch/torch.h>

#include "obol/data/dataset.h"

namespace obol::features {

struct PatchOptions {
  std::int64_t count;               // of w_k: a multiple of frequencies.size()
  std::int64_t side = 5;            // odd
  std::vector<double> frequencies;  // standard deviations of w_k; each has an equal share
  torch::Device device = torch::kCPU;
};

class PatchFeatures {
 public:
  PatchFeatures(const data::ImageShape& shape, const PatchOptions& options);

  // Of [m, channels * height * width].
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& images) const;
  // For a barrier that asks for rows which depend on their own record to the last bit: pixels
  // (clamped to [-1, 1]) and w_k lie on grids, on which products in double are exact, and so do
  // cosines and sines before they are averaged. On the CPU; the result is where the images are.
  [[nodiscard]] torch::Tensor of_records(const torch::Tensor& images) const;

  [[nodiscard]] std::int64_t dimension() const;

 private:
  [[nodiscard]] torch::Tensor padded(const torch::Tensor& images) const;

  data::ImageShape shape_;
  torch::Tensor weights_;  // [count, channels, side, side], double, on their grid, on the CPU
  torch::Tensor single_;   // the same in float, on the device
};

}  // namespace obol::features
