// Small problems, one thread block each.
#pragma once

#include "obol/transport/cuda/softmin.cuh"

namespace obol::transport::cuda {

constexpr int kMostFused = 8;

template <class T>
struct FusedBatch {
  SinkhornProblem<T> problems[kMostFused];
};

// Of shared memory; the block size belongs to it.
template <class T>
std::size_t fused_bytes(int rows, int columns);
template <class T>
bool is_fused(int rows, int columns);

// `rows` and `columns` are the largest of the batch.
template <class T>
void launch_fused(const FusedBatch<T>& batch, int count, int rows, int columns,
                  const Schedule& schedule, cudaStream_t stream);

}  // namespace obol::transport::cuda
