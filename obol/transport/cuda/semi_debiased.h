// The semi-debiased Sinkhorn loss with its gradient, in three launches:
//
//   S = 2 W(X[0:n], Y) - W(X[0:n], X[r:n+r]),   r resampled rows,
//
// (Cao et al. 2021, eq. 6). Rows n..n+r-1 of X carry the labels of rows 0..r-1.
//
//   SemiDebiasedProblem<float> problem{{x, n + r, d, {labels_x}}, {y, m, d, {labels_y}}, d, r};
//   semi_debiased_loss(problem, ground, options, output, workspace, stream);
//
// The gradient is that of the dual values with the plans held fixed (envelope theorem).
#pragma once

#include <cstddef>
#include <cstdint>

#include "obol/transport/cuda/pairwise.h"
#include "obol/transport/cuda/sinkhorn.h"

namespace obol::transport::cuda {

template <class T>
struct SemiDebiasedProblem {
  Points<T> x;  // n + resampled rows; labels, if any, of the first n
  Points<T> y;
  std::int64_t dimension;
  std::int64_t resampled;
};

template <class T>
struct SemiDebiasedOutput {
  double* value;            // S
  T* gradient;              // dS/dx, [n + resampled, dimension]
  std::int64_t leading;     // of the gradient
  SinkhornResult* results;  // [2]: of both transports
};

template <class T>
std::size_t semi_debiased_workspace(const SemiDebiasedProblem<T>& problem);

// Asynchronous on `stream`, and can be captured in a graph.
template <class T>
void semi_debiased_loss(const SemiDebiasedProblem<T>& problem, const Ground& ground,
                        const SinkhornOptions& options, const SemiDebiasedOutput<T>& output,
                        void* workspace, cudaStream_t stream);

}  // namespace obol::transport::cuda
