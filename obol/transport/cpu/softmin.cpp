// Compiled without contraction into fused products (the same bits everywhere), without errno and
// without regard for traps (comparisons become masks).
#include "obol/transport/cpu/softmin.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>
#include <vector>

#include "obol/base/error.h"
#include "obol/base/instruction_sets.h"

namespace obol::transport::cpu {
namespace {

#define OBOL_KERNEL "obol/transport/cpu/softmin_kernel.inc"
#include "obol/base/instruction_sets.inc"

template <class Input>
void check(const Input& in, RowRange rows) {
  if (!std::isfinite(in.epsilon) || in.epsilon <= 0)
    throw InvalidArgument(violation("epsilon", "finite and positive", in.epsilon));
  if (in.leading < in.columns)
    throw InvalidArgument(
        violation("the distance between rows of costs", "no less than a row", in.leading));
  if (rows.begin > rows.end)
    throw InvalidArgument(violation("the first row", "no later than the end", rows.begin));
}

}  // namespace

template <class T, class C>
std::span<const SoftminKernel<T, C>> softmin_kernels() {
  static const std::vector<SoftminKernel<T, C>> kKernels = OBOL_KERNELS(kernel<T, C>());
  return kKernels;
}

template <class T, class C>
void softmin(const SoftminInput<T, C>& in, RowRange rows, T* out) {
  check(in, rows);
  softmin_kernels<T, C>().front().softmin(in, rows, out);
}

template <class T, class C>
void plan_rows(const PlanInput<T, C>& in, RowRange rows, C* plan, std::size_t plan_leading) {
  check(in, rows);
  if (plan_leading < in.columns)
    throw InvalidArgument(
        violation("the distance between rows of the plan", "no less than a row", plan_leading));
  softmin_kernels<T, C>().front().plan(in, rows, plan, plan_leading);
}

template std::span<const SoftminKernel<float, float>> softmin_kernels<float, float>();
template void softmin(const SoftminInput<float, float>&, RowRange, float*);
template void plan_rows(const PlanInput<float, float>&, RowRange, float*, std::size_t);

template std::span<const SoftminKernel<double, double>> softmin_kernels<double, double>();
template void softmin(const SoftminInput<double, double>&, RowRange, double*);
template void plan_rows(const PlanInput<double, double>&, RowRange, double*, std::size_t);

template std::span<const SoftminKernel<double, float>> softmin_kernels<double, float>();
template void softmin(const SoftminInput<double, float>&, RowRange, double*);
template void plan_rows(const PlanInput<double, float>&, RowRange, float*, std::size_t);

}  // namespace obol::transport::cpu
