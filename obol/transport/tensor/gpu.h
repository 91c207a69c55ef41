// What the kernels of obol/transport/cuda do for tensors on a GPU. Without CUDA, in this build or
// in its LibTorch, no tensor is ever there; the functions then throw.
#pragma once

#include <torch/torch.h>

#include "obol/transport/tensor/block.h"

namespace obol::transport::gpu {

// Of differences; squared, absolute or mixture.
std::vector<torch::Tensor> cost_matrices(const PointPairs& pairs, const Cost& cost);
torch::Tensor cost_gradient(const torch::Tensor& x, const torch::Tensor& y,
                            const torch::Tensor& plan, const Cost& cost);

// One launch for all problems that are small.
std::vector<Solution> solve(const std::vector<Block>& blocks, const SinkhornOptions& options,
                            Side side, const std::vector<Solution>& starts);

torch::Tensor plan_rows(const Block& block, const Solution& solution, std::int64_t begin,
                        std::int64_t end);

}  // namespace obol::transport::gpu
