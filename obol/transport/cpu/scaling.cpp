// Compiled without contraction, as softmin.cpp.
#include "obol/transport/cpu/scaling.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace obol::transport::cpu {
namespace {

constexpr std::size_t kRowsPerSum = 32;  // then sums of T move on into doubles

double next_scaling(double u, double mass, double over_relaxation) {
  if (over_relaxation == 1) return 1 / mass;
  return u * std::pow(u * mass, -over_relaxation);
}

#define OBOL_KERNEL "obol/transport/cpu/scaling_kernel.inc"
#include "obol/transport/cpu/instruction_sets.inc"

template <class T>
using Kernel = double (*)(const ScalingInput<T>&, RowRange, double*, T*, double*);

template <class T>
Kernel<T> fastest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return avx512::scale_rows<T>;
  if (__builtin_cpu_supports("avx2")) return avx2::scale_rows<T>;
#endif
  return portable::scale_rows<T>;
}

}  // namespace

template <class T>
double scale_rows(const ScalingInput<T>& in, RowRange rows, double* u, T* sums, double* totals) {
  static const Kernel<T> kKernel = fastest<T>();
  return kKernel(in, rows, u, sums, totals);
}

template double scale_rows<float>(const ScalingInput<float>&, RowRange, double*, float*, double*);
template double scale_rows<double>(const ScalingInput<double>&, RowRange, double*, double*,
                                   double*);

}  // namespace obol::transport::cpu
