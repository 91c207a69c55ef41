// What gpu.cpp and streamed.cpp both tell the kernels.
#pragma once

#include <algorithm>

#include "obol/transport/cuda/pairwise.h"
#include "obol/transport/cuda/sinkhorn.h"
#include "obol/transport/sinkhorn.h"
#include "obol/transport/tensor/cost.h"

namespace obol::transport::gpu {

inline cuda::GroundCost kind_of(const Cost& cost) {
  if (cost.kind == CostKind::kAbsolute) return cuda::GroundCost::kAbsolute;
  return cost.kind == CostKind::kMixture ? cuda::GroundCost::kMixture : cuda::GroundCost::kSquared;
}

template <class T>
cuda::Points<T> points_of(const torch::Tensor& rows) {
  return {rows.data_ptr<T>(), rows.size(0), rows.stride(0)};
}

inline cuda::SinkhornOptions options_of(const SinkhornOptions& options) {
  constexpr std::int64_t kMost = 1'000'000'000;
  cuda::SinkhornOptions result{options.regularization};
  result.stopping = options.stopping == Stopping::kAnnealed ? cuda::Stopping::kAnnealed
                                                            : cuda::Stopping::kConverge;
  result.tolerance = options.tolerance;
  result.max_iterations = static_cast<int>(std::min(options.max_iterations, kMost));
  result.over_relaxation = options.over_relaxation;
  result.annealing = options.annealing;
  return result;
}

}  // namespace obol::transport::gpu
