// Transposed convolution, with the weights, names and initialisation of torch::nn::ConvTranspose2d,
// and several times faster than it on a processor.
//
//   ConvTranspose up({.in = 256, .out = 128, .kernel = 4, .stride = 2, .padding = 1});
//   torch::Tensor y = up->forward(x);   // [n, 256, 7, 7] -> [n, 128, 14, 14]
//
// On a processor floats go through oneDNN's convolutions, with their channels last; doubles take
// torch's own operator. So do tensors on a GPU, with their channels last, but for few output
// channels, which are made by a product.
#pragma once

#include <cstdint>

#include <torch/torch.h>

namespace obol::model {

struct ConvTransposeOptions {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t padding = 0;  // taken off every side of the result
  bool with_bias = true;
};

// x [n, in, height, width], weight [in, out, kernel, kernel], bias [out] or undefined
// -> [n, out, (height - 1) stride + kernel - 2 padding, ...]. Computes in x's type, to which weight
// and bias are brought; few channels of bfloat16 come out as floats.
torch::Tensor conv_transpose(const torch::Tensor& x, const torch::Tensor& weight,
                             const torch::Tensor& bias, std::int64_t stride, std::int64_t padding);

class ConvTransposeImpl : public torch::nn::Module {
 public:
  explicit ConvTransposeImpl(const ConvTransposeOptions& options);
  torch::Tensor forward(const torch::Tensor& x);

  ConvTransposeOptions options;
  torch::Tensor weight;  // [in, out, kernel, kernel]
  torch::Tensor bias;    // [out]
};
TORCH_MODULE(ConvTranspose);

}  // namespace obol::model
