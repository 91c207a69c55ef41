// Compiled without contraction into fused products (the same bits everywhere), without errno and
// without regard for traps (comparisons become masks).
#include "obol/transport/cpu/pairwise.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "obol/base/error.h"
#include "obol/base/instruction_sets.h"

namespace obol::transport::cpu {
namespace {

#define OBOL_KERNEL "obol/transport/cpu/pairwise_kernel.inc"
#include "obol/base/instruction_sets.inc"

void at_least(std::size_t leading, std::size_t row, std::string_view rows_of) {
  if (leading < row)
    throw InvalidArgument(violation(fmt::format("the distance between rows of {}", rows_of),
                                    fmt::format("at least {}", row), leading));
}

template <class T>
void check(const PairwiseInput<T>& in, RowRange rows) {
  at_least(in.x.leading, in.dimension, "x");
  at_least(in.y.leading, in.dimension, "y");
  if (rows.begin > rows.end || rows.end > in.x.count)
    throw InvalidArgument(violation("a range of rows", fmt::format("within {} rows", in.x.count),
                                    fmt::format("[{}, {})", rows.begin, rows.end)));
  if (!std::isfinite(in.ground.mixing) || in.ground.mixing < 0)
    throw InvalidArgument(violation("mixing", "finite and not negative", in.ground.mixing));
}

}  // namespace

template <class T>
std::span<const PairwiseKernel<T>> pairwise_kernels() {
  static const std::vector<PairwiseKernel<T>> kKernels = OBOL_KERNELS(kernel<T>());
  return kKernels;
}

template <class T>
void pairwise_cost(const PairwiseInput<T>& in, RowRange rows, T* cost, std::size_t leading) {
  check(in, rows);
  at_least(leading, in.y.count, "costs");
  pairwise_kernels<T>().front().cost(in, rows, cost, leading);
}

template <class T>
void pairwise_gradient(const PairwiseInput<T>& in, const PlanView<T>& plan, RowRange rows,
                       Write write, T* gradient, std::size_t leading) {
  check(in, rows);
  at_least(leading, in.dimension, "the gradient");
  pairwise_kernels<T>().front().gradient(in, plan, rows, write, gradient, leading);
}

template std::span<const PairwiseKernel<float>> pairwise_kernels<float>();
template void pairwise_cost<float>(const PairwiseInput<float>&, RowRange, float*, std::size_t);
template void pairwise_gradient<float>(const PairwiseInput<float>&, const PlanView<float>&,
                                       RowRange, Write, float*, std::size_t);

template std::span<const PairwiseKernel<double>> pairwise_kernels<double>();
template void pairwise_cost<double>(const PairwiseInput<double>&, RowRange, double*, std::size_t);
template void pairwise_gradient<double>(const PairwiseInput<double>&, const PlanView<double>&,
                                        RowRange, Write, double*, std::size_t);

}  // namespace obol::transport::cpu
