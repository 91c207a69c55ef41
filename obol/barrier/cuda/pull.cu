#include "obol/barrier/cuda/pull.h"
#include "obol/cuda/error.h"

namespace obol::barrier::cuda {
namespace {

using obol::cuda::check;
using obol::cuda::require;

constexpr int kThreads = 64;  // few, so that a small sample has many blocks

__global__ void __launch_bounds__(kThreads)
    weigh_kernel(const PullProducts all, const PullOptions options) {
  const std::int64_t record = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (record >= all.samples) return;
  const std::int64_t first = std::int64_t{blockIdx.y} * all.rows;
  clipped_weights(all.products + first * all.samples + record, all.samples, all.rows,
                  all.squares + first, all.potentials + first,
                  all.sample_squares[std::int64_t{blockIdx.y} * all.samples + record], options);
}

}  // namespace

void weigh(const PullProducts& products, const PullOptions& options, cudaStream_t stream) {
  constexpr double kMostClasses = 65535;  // of a launch's second dimension
  require(static_cast<double>(products.classes) <= kMostClasses, "the number of classes",
          "at most 65535", static_cast<double>(products.classes));
  if (products.classes == 0 || products.samples == 0) return;
  const dim3 shape(static_cast<unsigned>((products.samples + kThreads - 1) / kThreads),
                   static_cast<unsigned>(products.classes));
  weigh_kernel<<<shape, kThreads, 0, stream>>>(products, options);
  check(cudaGetLastError(), "the weights of pulls");
}

}  // namespace obol::barrier::cuda
