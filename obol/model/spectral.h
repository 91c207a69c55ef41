// Layers whose weight is divided by its largest singular value (Miyato et al. 2018), followed by
// one power iteration per training step.
//
//   SpectralConv conv({.in = 256, .out = 256, .kernel = 3});
//   torch::Tensor y = conv->forward(x);   // same height and width
//
// Computes in x's type; the singular vectors, and the weight that is divided, keep their own.
#pragma once

#include <cstdint>

#include <torch/torch.h>

namespace obol::model {

// One power iteration for the largest singular value of matrix [rows, columns]: moves left [rows]
// and right [columns] towards its singular vectors.
void power_iteration(const torch::Tensor& matrix, const torch::Tensor& left,
                     const torch::Tensor& right);

struct SpectralOptions {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t kernel = 0;  // odd: a convolution that keeps the size; 0: a linear layer
  bool with_bias = true;
};

class SpectralImpl : public torch::nn::Module {
 public:
  explicit SpectralImpl(const SpectralOptions& options);
  torch::Tensor forward(const torch::Tensor& x);

  SpectralOptions options;
  torch::Tensor weight;  // [out, in] or [out, in, kernel, kernel]
  torch::Tensor bias;    // [out]
  torch::Tensor left;    // [out], the singular vectors as far as known; buffers
  torch::Tensor right;   // [in kernel kernel]
};
TORCH_MODULE(Spectral);

}  // namespace obol::model
