// Compiled without contraction, as softmin.cpp.
#include "obol/transport/cpu/scaling.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "obol/base/instruction_sets.h"

namespace obol::transport::cpu {
namespace {

constexpr std::size_t kRowsPerSum = 32;  // then sums of T move on into doubles

double next_scaling(double u, double mass, double over_relaxation) {
  if (over_relaxation == 1) return 1 / mass;
  return u * std::pow(u * mass, -over_relaxation);
}

template <class T>
using Kernel = double (*)(const ScalingInput<T>&, RowRange, double*, T*, double*);

#define OBOL_KERNEL "obol/transport/cpu/scaling_kernel.inc"
#include "obol/base/instruction_sets.inc"

}  // namespace

template <class T>
double scale_rows(const ScalingInput<T>& in, RowRange rows, double* u, T* sums, double* totals) {
  static const Kernel<T> kKernel = OBOL_KERNELS(kernel<T>()).front();
  return kKernel(in, rows, u, sums, totals);
}

template double scale_rows<float>(const ScalingInput<float>&, RowRange, double*, float*, double*);
template double scale_rows<double>(const ScalingInput<double>&, RowRange, double*, double*,
                                   double*);

}  // namespace obol::transport::cpu
