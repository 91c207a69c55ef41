// What gpu.cpp and streamed.cpp both tell the kernels.
#pragma once

#include "obol/transport/cuda/pairwise.h"
#include "obol/transport/cuda/sinkhorn.h"
#include "obol/transport/tensor/cost.h"

namespace obol::transport::gpu {

template <class T>
cuda::Points<T> points_of(const torch::Tensor& rows) {
  return {rows.data_ptr<T>(), rows.size(0), rows.stride(0)};
}

}  // namespace obol::transport::gpu
