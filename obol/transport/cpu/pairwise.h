// Costs between two sets of points that no matrix product gives, and their gradients, without ever
// holding the differences of all pairs.
//
//   PairwiseInput<float> in{.x = {x, n, d}, .y = {y, m, d}, .dimension = d,
//                           .ground = {.kind = GroundCost::kMixture, .mixing = 0.1}};
//   pairwise_cost(in, {.begin = 0, .end = n}, cost, m);
//   pairwise_gradient(in, {plan, m, 1}, {.begin = 0, .end = n}, Write::kOverwrite, grad_x, d);
//
// The gradient with respect to y is that of the exchanged roles, with the strides of the plan
// exchanged as well: in.x and in.y swapped, {plan, 1, m}, and rows of y. Rows are independent:
// threads take ranges of them. Float and double.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "obol/transport/cpu/softmin.h"
#include "obol/transport/types.h"

namespace obol::transport::cpu {

template <class T>
struct Points {
  const T* data;  // one row each
  std::size_t count;
  std::size_t leading;  // elements from one row to the next
};

template <class T>
struct PairwiseInput {
  Points<T> x;
  Points<T> y;
  std::size_t dimension;
  Ground ground;
};

// P_ij at data[i * row_stride + j * column_stride].
template <class T>
struct PlanView {
  const T* data;
  std::size_t row_stride;
  std::size_t column_stride;
};

enum class Write { kOverwrite, kAccumulate };

// Writes cost[i * leading + j] for i in `rows` and every j.
template <class T>
void pairwise_cost(const PairwiseInput<T>& in, RowRange rows, T* cost, std::size_t leading);

// Writes, or adds to, gradient[i * leading + k] = sum_j P_ij dC_ij / dx_ik for i in `rows`. The
// derivative of |x - y| at 0 is 0.
template <class T>
void pairwise_gradient(const PairwiseInput<T>& in, const PlanView<T>& plan, RowRange rows,
                       Write write, T* gradient, std::size_t leading);

// One translation of the loops. They differ in speed alone: no product is fused with a sum and sums
// have one order, so that each gives the same bits. Nor do the bits depend on the ranges of rows.
template <class T>
struct PairwiseKernel {
  std::string_view name;  // "avx512", "avx2", "portable"
  void (*cost)(const PairwiseInput<T>& in, RowRange rows, T* cost, std::size_t leading);
  void (*gradient)(const PairwiseInput<T>& in, const PlanView<T>& plan, RowRange rows, Write write,
                   T* gradient, std::size_t leading);
};

// Those this processor can run, the fastest first.
template <class T>
std::span<const PairwiseKernel<T>> pairwise_kernels();

}  // namespace obol::transport::cpu
