// Costs between two sets of points on the GPU, and gradients of transport between them. As
// cpu/pairwise.h, but several problems go into one launch, since a small one cannot fill the chip.
//
//   CostProblem<float> problems[] = {{{x, n, d}, {y, m, d}, cost, m}};
//   pairwise_cost(problems, 1, d, {GroundCost::kMixture, 1.0}, stream);
//
// Everything is asynchronous on `stream`, takes device pointers, and can be captured in a graph.
// Float and double.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "obol/transport/cuda/sinkhorn.h"

namespace obol::transport::cuda {

template <class T>
struct Points {
  const T* data;  // one row each
  std::int64_t count;
  std::int64_t leading;                  // elements from one row to the next
  const std::int64_t* labels = nullptr;  // [count], or none on both sides
};

template <class T>
struct CostProblem {
  Points<T> x;
  Points<T> y;
  T* cost;  // [x.count, y.count]
  std::int64_t leading;
};

// Problems, or terms, of one launch; more become several launches.
constexpr int kMostAtOnce = 8;

template <class T>
void pairwise_cost(const CostProblem<T>* problems, int count, std::int64_t dimension,
                   const Ground& ground, cudaStream_t stream);

// scale * sum_j P_ij dC_ij/dx_i for `rows` rows of x from `first` on, where P is the plan of the
// potentials. C_ij lies at cost[i * row_stride + j * column_stride], so that the gradient with
// respect to y is that of exchanged roles.
template <class T>
struct GradientTerm {
  std::int64_t first;
  std::int64_t rows;
  Points<T> y;
  const T* cost;
  std::int64_t row_stride;
  std::int64_t column_stride;
  const T* f;                // [rows]
  const T* g;                // [y.count]
  const T* log_a = nullptr;  // null: uniform
  const T* log_b = nullptr;
  double regularization = 1;
  double scale = 1;
};

// Writes to gradient[i * leading + k] the sum of all terms (at most kMostAtOnce) for every row of
// x. The plan is formed in shared memory, never stored.
template <class T>
void pairwise_gradient(const Points<T>& x, std::int64_t dimension, const Ground& ground,
                       const GradientTerm<T>* terms, int count, T* gradient, std::int64_t leading,
                       cudaStream_t stream);

}  // namespace obol::transport::cuda
