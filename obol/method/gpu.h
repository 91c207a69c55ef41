// What the kernels of obol/method/cuda do for tensors on a GPU. Without CUDA, in this build or in
// its LibTorch, no tensor is ever there; the functions then throw.
#pragma once

#include <vector>

#include <torch/torch.h>

#include "obol/method/optimizer_options.h"

namespace obol::method::gpu {

// All of one shape and in one order in memory.
struct Updated {
  torch::Tensor values;
  torch::Tensor gradient;
  torch::Tensor first;    // moment, or momentum
  torch::Tensor second;   // moment
  torch::Tensor average;  // or undefined
};

// table [steps, 3] of floats: rate, scale of the second moment's root, share in the average;
// step [1] of int64: the row that counts.
void update(const std::vector<Updated>& tensors, const OptimizerOptions& options,
            const torch::Tensor& table, const torch::Tensor& step);

}  // namespace obol::method::gpu
