// Batch normalisation and the (leaky) rectifier behind it as one layer, with the names and the
// mathematics of torch::nn::BatchNorm2d. It passes over memory half as often.
//
//   NormActivation norm({.channels = 64, .slope = 0.2});
//   torch::Tensor y = norm->forward(x);   // leaky_relu(batch_norm(x), 0.2)
//
// Images are kept with their channels last, as ConvTranspose leaves them. On a GPU they may be
// bfloat16; weights, statistics and arithmetic are float then.
#pragma once

#include <cstdint>
#include <utility>

#include <torch/torch.h>

namespace obol::model {

struct NormActivationOptions {
  std::int64_t channels = 1;
  double slope = 0;  // of the rectifier below zero; 0 is ReLU
  double momentum = 0.1;
  double epsilon = 1e-5;
};

class NormActivationImpl : public torch::nn::Module {
 public:
  explicit NormActivationImpl(const NormActivationOptions& options);
  torch::Tensor forward(const torch::Tensor& x);

  // What evaluation multiplies each channel by and then adds, before the rectifier; [channels]
  // each.
  [[nodiscard]] std::pair<torch::Tensor, torch::Tensor> scale_and_shift() const;

  NormActivationOptions options;
  torch::Tensor weight;        // [channels]
  torch::Tensor bias;          // [channels]
  torch::Tensor running_mean;  // [channels], buffers
  torch::Tensor running_var;

 private:
  void update(const torch::Tensor& moments, std::int64_t rows);
};
TORCH_MODULE(NormActivation);

}  // namespace obol::model
