// Small problems, one thread block each.
#pragma once

#include "obol/transport/cuda/softmin.cuh"

namespace obol::transport::cuda {

constexpr int kMostFused = 8;

// Either up to kMostFused problems one by one, or, with strides, any number like the first.
template <class T>
struct FusedBatch {
  SinkhornProblem<T> problems[kMostFused];
  SinkhornStrides strides;
  bool is_strided;
};

template <class T>
__device__ SinkhornProblem<T> problem_of_block(const FusedBatch<T>& batch) {
  if (!batch.is_strided) return batch.problems[blockIdx.x];
  SinkhornProblem<T> p = batch.problems[0];
  const std::int64_t k = blockIdx.x;
  p.cost += k * batch.strides.cost;
  p.f += k * batch.strides.f;
  p.g += k * batch.strides.g;
  p.result += k;
  if (p.log_a != nullptr) p.log_a += k * batch.strides.log_a;
  if (p.log_b != nullptr) p.log_b += k * batch.strides.log_b;
  if (p.start_f != nullptr) p.start_f += k * batch.strides.f;
  if (p.start_g != nullptr) p.start_g += k * batch.strides.g;
  return p;
}

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
