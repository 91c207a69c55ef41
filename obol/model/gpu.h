// What the kernels of obol/model/cuda do for tensors on a GPU. Without CUDA, in this build or in
// its LibTorch, no tensor is ever there: `takes` says no, and the others throw.
//
//   if (gpu::takes(x)) return gpu::norm_train(norm, x);
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "obol/model/norm_activation.h"

namespace obol::model::gpu {

// Floats or bfloat16 on a GPU, and at least one.
[[nodiscard]] bool takes(const torch::Tensor& x);

// NormActivation's forward in training, with gradients, and in evaluation, without.
torch::Tensor norm_train(NormActivationImpl& norm, const torch::Tensor& x);
torch::Tensor norm_evaluate(const NormActivationImpl& norm, const torch::Tensor& x);

// A transposed convolution of stride 1 as a product, with gradients: for few output channels. The
// weight and the bias are float, and so is the result whatever x is.
torch::Tensor conv_transpose_few(const torch::Tensor& x, const torch::Tensor& weight,
                                 const torch::Tensor& bias, std::int64_t padding);

}  // namespace obol::model::gpu
