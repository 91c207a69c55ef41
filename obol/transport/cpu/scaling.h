// Sinkhorn's iteration as products with a kernel K_ij = exp((f_i + g_j - C_ij) / eps) b_j: where
// potentials no longer move far, exponentials need not be taken again (Schmitzer 2019, stabilised
// scaling). One pass over K is a whole iteration.
//
//   error += scale_rows(in, {begin, end}, u, sums, totals);
//
// For each row the mass u_i sum_j K_ij v_j is compared with 1, u_i set so that it is 1, and
// a_i u_i K_i added to the totals of the columns. Float and double.
#pragma once

#include <cstddef>

#include "obol/transport/cpu/softmin.h"

namespace obol::transport::cpu {

template <class T>
struct ScalingInput {
  const T* kernel;  // row-major, dense
  std::size_t columns;
  const T* v;
  const double* a;
  double over_relaxation;  // 1: plain
};

// Changes u; adds to totals[j]; `sums` are `columns` zeros of scratch memory, and zeros again when
// it returns. Returns the L1 error of these rows before the change. Not finite where a row has lost
// all of its mass to rounding.
template <class T>
double scale_rows(const ScalingInput<T>& in, RowRange rows, double* u, T* sums, double* totals);

}  // namespace obol::transport::cpu
