// Very small problems in float: two-sided, uniform, at most kSmall rows and columns; one thread
// block each, as fused.cuh, but with nothing but potentials in shared memory. Double has too few
// registers.
#pragma once

#include "obol/transport/cuda/fused.cuh"

namespace obol::transport::cuda {

constexpr int kSmall = 64;

template <class T>
bool is_small(const SinkhornProblem<T>& p) {
  return p.rows <= kSmall && p.columns <= kSmall && p.log_a == nullptr && p.log_b == nullptr &&
         p.mode == Mode::kTwoSided;
}

template <class T>
void launch_small(const FusedBatch<T>& batch, int count, int rows, int columns,
                  const Schedule& schedule, cudaStream_t stream);

}  // namespace obol::transport::cuda
