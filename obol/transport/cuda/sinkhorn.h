// Entropic optimal transport on the GPU: obol/transport/sinkhorn.h with device pointers.
//
//   SinkhornProblem<float> problems[] = {{cost, n, m, m, f, g, result}};
//   sinkhorn(problems, 1, {0.05}, workspace, stream);    // result->converged once stream is done
//
// Every decision falls on the device: nothing waits for the host, and a call can be captured in a
// graph. A problem that fits in the shared memory of one multiprocessor (about 220 x 220 in float)
// is solved by one thread block, all such problems of a call in one launch; a larger one by the
// whole chip, which reads the costs once per iteration. Float and double.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#include "obol/transport/types.h"

namespace obol::transport::cuda {

// Never NaN: where costs are not finite, or T's range is not enough, `converged` is 0 and the
// values are infinite.
struct SinkhornResult {
  double dual;    // <a, f> + <b, g>: W itself once converged
  double primal;  // <C, P>
  double marginal_error;
  int iterations;
  int converged;
};

enum class Mode {
  kTwoSided,
  // W between a measure and itself, by one potential: a symmetric cost, log_a alone, g = f. The
  // update is averaged with what was there (Feydy et al. 2019). No over-relaxation.
  kSelf,
};

template <class T>
struct SinkhornProblem {
  const T* cost;  // finite
  int rows;
  int columns;
  std::int64_t leading;  // elements from one row of costs to the next
  T* f;                  // [rows]
  T* g;                  // [columns]
  SinkhornResult* result;
  // Logarithms of weights that sum to 1; null: uniform. -infinity: no part in the plan, but a
  // potential.
  const T* log_a = nullptr;
  const T* log_b = nullptr;
  // Potentials to start from; null: zero. May be f and g themselves.
  const T* start_f = nullptr;
  const T* start_g = nullptr;
  Mode mode = Mode::kTwoSided;
};

// Of scratch memory for any one problem of this shape; 0 where one thread block solves it.
template <class T>
std::size_t sinkhorn_workspace(int rows, int columns);

// `workspace` is on the device, at least the largest that any of the problems needs.
// InvalidArgument on options or shapes that cannot be meant.
template <class T>
void sinkhorn(const SinkhornProblem<T>* problems, int count, const SinkhornOptions& options,
              void* workspace, cudaStream_t stream);

}  // namespace obol::transport::cuda
