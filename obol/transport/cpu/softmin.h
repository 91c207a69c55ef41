// The inner loop of Sinkhorn's iteration in the log domain, on one core, without tensors.
//
//   SoftminInput<float> in{.cost = c, .leading = m, .columns = m, .h = h, .epsilon = 0.05};
//   softmin(in, {.begin = 0, .end = n}, f);      // f_i = -eps log sum_j exp(h_j - C_ij / eps)
//
// With h_j = log b_j + g_j / eps that is half an iteration. Rows are independent: threads take
// ranges of them. Each cost is read once and nothing is kept beside it. T is the type that
// computes, float or double; C is that of the costs, which may be float where T is double: costs
// that are many epsilons large need the digits of h_j - C_ij / eps, not a wider matrix.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace obol::transport::cpu {

// Rows [begin, end) of a matrix whose pointer is that of row 0.
struct RowRange {
  std::size_t begin;
  std::size_t end;
};

// Finite costs with |C_ij| / epsilon in the range of T. h may be -infinity (no weight), not
// +infinity. What is not a number stays visible: it makes its rows NaN.
template <class T, class C = T>
struct SoftminInput {
  const C* cost;        // row-major
  std::size_t leading;  // elements from one row to the next
  std::size_t columns;
  const T* h;
  double epsilon;
};

template <class T, class C = T>
struct PlanInput {
  const C* cost;
  std::size_t leading;
  std::size_t columns;
  const T* f;  // one per row
  const T* a;
  const T* g;  // one per column
  const T* b;
  double epsilon;
};

// Writes out[i] for i in `rows`; +infinity where no column has weight.
template <class T, class C>
void softmin(const SoftminInput<T, C>& in, RowRange rows, T* out);

// Writes P_ij = a_i exp((f_i + g_j - C_ij) / eps) b_j. Exactly 0 where a weight is, and where the
// exponential is below the normal numbers; at most some 1e38 (float) or 1e307 times the weights.
template <class T, class C>
void plan_rows(const PlanInput<T, C>& in, RowRange rows, C* plan, std::size_t plan_leading);

// One translation of the loops. They differ in speed alone: no product is fused with a sum and sums
// have one order, so that each gives the same bits.
template <class T, class C = T>
struct SoftminKernel {
  std::string_view name;  // "avx512", "avx2", "portable"
  void (*softmin)(const SoftminInput<T, C>& in, RowRange rows, T* out);
  void (*plan)(const PlanInput<T, C>& in, RowRange rows, C* plan, std::size_t plan_leading);
};

// Those this processor can run, the fastest first.
template <class T, class C = T>
std::span<const SoftminKernel<T, C>> softmin_kernels();

}  // namespace obol::transport::cpu
