#include <algorithm>
#include <cmath>

#include "obol/transport/cuda/error.h"
#include "obol/transport/cuda/fused.cuh"
#include "obol/transport/cuda/sinkhorn.h"
#include "obol/transport/cuda/tiled.cuh"

namespace obol::transport::cuda {
namespace {

void check_options(const SinkhornOptions& o) {
  require(std::isfinite(o.regularization) && o.regularization > 0, "regularization",
          "finite and positive", o.regularization);
  require(o.tolerance >= 0, "tolerance", "not negative", o.tolerance);
  require(o.max_iterations >= 1, "max_iterations", "at least 1", o.max_iterations);
  require(o.over_relaxation >= 1 && o.over_relaxation < 2, "over_relaxation",
          "at least 1 and below 2", o.over_relaxation);
  require(o.annealing > 0 && o.annealing <= 1, "annealing", "above 0 and at most 1", o.annealing);
}

template <class T>
void check_shape(const SinkhornProblem<T>& p) {
  require(p.rows >= 1, "the number of rows", "at least 1", p.rows);
  require(p.columns >= 1, "the number of columns", "at least 1", p.columns);
  require(p.leading >= p.columns, "the distance between rows of costs", "no less than a row",
          static_cast<double>(p.leading));
  require(p.mode == Mode::kTwoSided || p.rows == p.columns, "the columns of a self transport",
          "as many as rows", p.columns);
}

constexpr int kColumnWarps = 16;

// A warp's lanes are 32 columns, its block's warps share the rows.
template <class T>
__global__ void __launch_bounds__(kColumnWarps* kWarp)
    column_kernel(const T* cost, int rows, int columns, std::int64_t leading, const T* f,
                  const T* log_a, double regularization, T* g) {
  __shared__ T largest_of[kColumnWarps][kWarp];
  __shared__ T sum_of[kColumnWarps][kWarp];
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  const std::int64_t j = min(std::int64_t{blockIdx.x} * kWarp + lane, std::int64_t{columns} - 1);
  const Temperature<T> t(regularization, 1 / regularization);
  const T* column = cost + j;
  const auto exponent = [&](int i) {
    const Side<T> side{f[i], side_weight(log_a, i, rows, false)};
    return log_part(side, column[i * leading], t, false);
  };
  T largest = -Range<T>::kLargest;
  for (int i = warp; i < rows; i += kColumnWarps) largest = fmax(largest, exponent(i));
  largest_of[warp][lane] = largest;
  __syncthreads();
  for (int w = 0; w < kColumnWarps; ++w) largest = fmax(largest, largest_of[w][lane]);
  T sum = 0;
  for (int i = warp; i < rows; i += kColumnWarps) sum += power_of_two(exponent(i) - largest);
  sum_of[warp][lane] = sum;
  __syncthreads();
  if (warp != 0 || std::int64_t{blockIdx.x} * kWarp + lane >= columns) return;
  for (int w = 1; w < kColumnWarps; ++w) sum += sum_of[w][lane];
  g[j] = from_largest(largest, sum, T{0}, t);
}

template <class T>
__global__ void plan_kernel(const __grid_constant__ SinkhornProblem<T> p, double regularization,
                            T* plan) {
  const Temperature<T> t(regularization, 1 / regularization);
  const int i = blockIdx.y;
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= p.columns) return;
  for (std::int64_t row = i; row < p.rows; row += gridDim.y) {
    const Side<T> a{p.f[row], side_weight(p.log_a, row, p.rows, false)};
    const Side<T> b{p.g[j], side_weight(p.log_b, j, p.columns, false)};
    plan[row * p.columns + j] = pair_mass(a, b, p.cost[row * p.leading + j], t, false);
  }
}

}  // namespace

template <class T>
std::size_t sinkhorn_workspace(int rows, int columns) {
  return is_fused<T>(rows, columns) ? 0 : tiled_workspace<T>(rows, columns);
}

template <class T>
void sinkhorn(const SinkhornProblem<T>* problems, int count, const SinkhornOptions& options,
              void* workspace, cudaStream_t stream) {
  check_options(options);
  const Schedule how = schedule(options);
  FusedBatch<T> batch{};
  int waiting = 0;
  int rows = 0;
  int columns = 0;
  const auto flush = [&] {
    if (waiting > 0) launch_fused(batch, waiting, rows, columns, how, stream);
    waiting = rows = columns = 0;
  };
  for (int k = 0; k < count; ++k) {
    const SinkhornProblem<T>& problem = problems[k];
    check_shape(problem);
    if (!is_fused<T>(problem.rows, problem.columns)) {
      launch_tiled(problem, how, workspace, stream);
      continue;
    }
    batch.problems[waiting++] = problem;
    rows = std::max(rows, problem.rows);
    columns = std::max(columns, problem.columns);
    if (waiting == kMostFused) flush();
  }
  flush();
}

template <class T>
void sinkhorn_batch(const SinkhornProblem<T>& first, const SinkhornStrides& strides, int count,
                    const SinkhornOptions& options, cudaStream_t stream) {
  check_options(options);
  check_shape(first);
  require(is_fused<T>(first.rows, first.columns), "the rows of a problem of a batch",
          "few enough for shared memory", first.rows);
  if (count < 1) return;
  FusedBatch<T> batch{};
  batch.problems[0] = first;
  batch.strides = strides;
  batch.is_strided = true;
  launch_fused(batch, count, first.rows, first.columns, schedule(options), stream);
}

template <class T>
void column_potentials(const T* cost, int rows, int columns, std::int64_t leading, const T* f,
                       const T* log_a, double regularization, T* g, cudaStream_t stream) {
  check_options({regularization});
  require(rows >= 1, "the number of rows", "at least 1", rows);
  require(columns >= 1, "the number of columns", "at least 1", columns);
  column_kernel<T><<<(columns + kWarp - 1) / kWarp, kColumnWarps * kWarp, 0, stream>>>(
      cost, rows, columns, leading, f, log_a, regularization, g);
  check(cudaGetLastError(), "column_potentials");
}

template <class T>
void transport_plan(const SinkhornProblem<T>& problem, double regularization, T* plan,
                    cudaStream_t stream) {
  check_options({regularization});
  check_shape(problem);
  constexpr int kThreads = 128;
  constexpr int kMostDown = 65535;
  const dim3 grid(static_cast<unsigned>((problem.columns + kThreads - 1) / kThreads),
                  static_cast<unsigned>(std::min(problem.rows, kMostDown)));
  plan_kernel<T><<<grid, kThreads, 0, stream>>>(problem, regularization, plan);
  check(cudaGetLastError(), "transport_plan");
}

template std::size_t sinkhorn_workspace<float>(int, int);
template std::size_t sinkhorn_workspace<double>(int, int);
template void sinkhorn(const SinkhornProblem<float>*, int, const SinkhornOptions&, void*,
                       cudaStream_t);
template void sinkhorn(const SinkhornProblem<double>*, int, const SinkhornOptions&, void*,
                       cudaStream_t);
template void sinkhorn_batch(const SinkhornProblem<float>&, const SinkhornStrides&, int,
                             const SinkhornOptions&, cudaStream_t);
template void sinkhorn_batch(const SinkhornProblem<double>&, const SinkhornStrides&, int,
                             const SinkhornOptions&, cudaStream_t);
template void column_potentials(const float*, int, int, std::int64_t, const float*, const float*,
                                double, float*, cudaStream_t);
template void column_potentials(const double*, int, int, std::int64_t, const double*, const double*,
                                double, double*, cudaStream_t);
template void transport_plan(const SinkhornProblem<float>&, double, float*, cudaStream_t);
template void transport_plan(const SinkhornProblem<double>&, double, double*, cudaStream_t);

}  // namespace obol::transport::cuda
