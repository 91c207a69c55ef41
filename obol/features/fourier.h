// Random Fourier features (Rahimi and Recht 2007): a public map whose inner products are, on
// average over the frequencies, those of Gaussian kernels.
//
//   FourierFeatures features(784, {.count = 2500, .frequencies = {0.1}});
//   features(images)                // [m, 5000], each of length 1, differentiable
//   features.of_records(images)     // the same in double, each from its own record alone
//
// phi(x) = [cos(w_k x), sin(w_k x)]_k / sqrt(count), with w_k normal from a fixed public seed. Each
// of the standard deviations `frequencies` has an equal share of the w_k, and the kernel is the
// mean over them of exp(-frequency^2 |x - y|^2 / 2).
#pragma once

#include <cstdint>
#include <vector>

#include <torch/torch.h>

namespace obol::features {

struct FourierOptions {
  std::int64_t count;               // of w_k, all together: a multiple of frequencies.size()
  std::vector<double> frequencies;  // standard deviations of their coordinates
  double bound = 1;                 // of_records clamps its inputs to [-bound, bound]
  torch::Device device = torch::kCPU;
};

class FourierFeatures {
 public:
  FourierFeatures(std::int64_t inputs, const FourierOptions& options);

  // Of [m, inputs]. For floats on the CPU, the gradient cannot be differentiated again.
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& points) const;
  // For a barrier that asks for rows which depend on their own record to the last bit: inputs
  // (clamped to the bound) and frequencies lie on grids, on which a product in double is exact in
  // whatever order it is summed up, and so whatever records are beside this one.
  [[nodiscard]] torch::Tensor of_records(const torch::Tensor& points) const;

  [[nodiscard]] std::int64_t dimension() const { return 2 * frequencies_.size(1); }

 private:
  double bound_;
  torch::Tensor frequencies_;  // [inputs, count], double, on their grid
  torch::Tensor single_;       // the same in float
  double scale_;               // 1 / sqrt(count)
};

}  // namespace obol::features
