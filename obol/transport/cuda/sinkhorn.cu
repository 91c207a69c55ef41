#include <algorithm>

#include "obol/transport/cuda/fused.cuh"
#include "obol/transport/cuda/sinkhorn.h"
#include "obol/transport/cuda/tiled.cuh"

namespace obol::transport::cuda {
namespace {

template <class T>
void check_shape(const SinkhornProblem<T>& p) {
  require(p.rows >= 1, "the number of rows", "at least 1", p.rows);
  require(p.columns >= 1, "the number of columns", "at least 1", p.columns);
  require(p.leading >= p.columns, "the distance between rows of costs", "no less than a row",
          static_cast<double>(p.leading));
  require(p.mode == Mode::kTwoSided || p.rows == p.columns, "the columns of a self transport",
          "as many as rows", p.columns);
}

}  // namespace

template <class T>
std::size_t sinkhorn_workspace(int rows, int columns) {
  return is_fused<T>(rows, columns) ? 0 : tiled_workspace<T>(rows, columns);
}

template <class T>
void sinkhorn(const SinkhornProblem<T>* problems, int count, const SinkhornOptions& options,
              void* workspace, cudaStream_t stream) {
  transport::check(options);
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

template std::size_t sinkhorn_workspace<float>(int, int);
template std::size_t sinkhorn_workspace<double>(int, int);
template void sinkhorn(const SinkhornProblem<float>*, int, const SinkhornOptions&, void*,
                       cudaStream_t);
template void sinkhorn(const SinkhornProblem<double>*, int, const SinkhornOptions&, void*,
                       cudaStream_t);

}  // namespace obol::transport::cuda
