#include <algorithm>

#include "obol/transport/cuda/error.h"
#include "obol/transport/cuda/semi_debiased.h"

namespace obol::transport::cuda {
namespace {

// Both transports' costs and potentials, one after the other in the caller's memory.
template <class T>
struct Regions {
  T* cost[2];
  T* f[2];
  T* g[2];
  void* solver;
  std::size_t bytes;
};

template <class T>
Regions<T> regions(const SemiDebiasedProblem<T>& p, void* workspace) {
  constexpr std::size_t kBoundary = 256;
  const auto n = static_cast<std::size_t>(p.x.count - p.resampled);
  const std::size_t columns[2] = {static_cast<std::size_t>(p.y.count), n};
  char* const base = static_cast<char*>(workspace);
  std::size_t used = 0;
  const auto take = [&](std::size_t bytes) {
    char* region = base + used;
    used += (bytes + kBoundary - 1) / kBoundary * kBoundary;
    return region;
  };
  Regions<T> r{};
  for (int k = 0; k < 2; ++k) {
    r.cost[k] = reinterpret_cast<T*>(take(n * columns[k] * sizeof(T)));
    r.f[k] = reinterpret_cast<T*>(take(n * sizeof(T)));
    r.g[k] = reinterpret_cast<T*>(take(columns[k] * sizeof(T)));
  }
  const auto solver = [&](std::size_t m) {
    return sinkhorn_workspace<T>(static_cast<int>(n), static_cast<int>(m));
  };
  r.solver = take(std::max(solver(columns[0]), solver(columns[1])));
  r.bytes = used;
  return r;
}

template <class T>
void check_problem(const SemiDebiasedProblem<T>& p) {
  require(p.y.count >= 1, "the number of rows of y", "at least 1", static_cast<double>(p.y.count));
  require(p.x.count - p.resampled >= 1, "the number of rows of x", "more than are resampled",
          static_cast<double>(p.x.count));
  require(p.resampled >= 0 && p.resampled <= p.x.count - p.resampled, "resampled",
          "between 0 and the rows that are not", static_cast<double>(p.resampled));
}

}  // namespace

template <class T>
std::size_t semi_debiased_workspace(const SemiDebiasedProblem<T>& problem) {
  check_problem(problem);
  return regions(problem, nullptr).bytes;
}

template <class T>
void semi_debiased_loss(const SemiDebiasedProblem<T>& problem, const Ground& ground,
                        const SinkhornOptions& options, const SemiDebiasedOutput<T>& output,
                        void* workspace, cudaStream_t stream) {
  check_problem(problem);
  const Regions<T> r = regions(problem, workspace);
  const std::int64_t shift = problem.resampled;
  const std::int64_t n = problem.x.count - shift;
  const std::int64_t m = problem.y.count;
  Points<T> left = problem.x;
  left.count = n;
  Points<T> right = left;  // X[shift : n + shift]; labels begin again after n
  right.data += shift * right.leading;
  right.labels.offset += shift;
  right.labels.period = n;

  const CostProblem<T> costs[2] = {{left, problem.y, r.cost[0], m}, {left, right, r.cost[1], n}};
  pairwise_cost(costs, 2, problem.dimension, ground, stream);

  const auto rows = static_cast<int>(n);
  const SinkhornProblem<T> solves[2] = {
      {r.cost[0], rows, static_cast<int>(m), m, r.f[0], r.g[0], output.results},
      {r.cost[1], rows, rows, n, r.f[1], r.g[1], output.results + 1}};
  sinkhorn(solves, 2, options, r.solver, stream);

  const double epsilon = options.regularization;
  const GradientTerm<T> terms[3] = {
      {0, n, problem.y, r.cost[0], m, 1, r.f[0], r.g[0], nullptr, nullptr, epsilon, 2,
       output.results},
      {0, n, right, r.cost[1], n, 1, r.f[1], r.g[1], nullptr, nullptr, epsilon, -1,
       output.results + 1},
      {shift, n, left, r.cost[1], 1, n, r.g[1], r.f[1], nullptr, nullptr, epsilon, -1}};
  pairwise_gradient(problem.x, problem.dimension, ground, terms, 3, Write::kOverwrite,
                    output.gradient, output.leading, output.value, stream);
}

template std::size_t semi_debiased_workspace(const SemiDebiasedProblem<float>&);
template std::size_t semi_debiased_workspace(const SemiDebiasedProblem<double>&);
template void semi_debiased_loss(const SemiDebiasedProblem<float>&, const Ground&,
                                 const SinkhornOptions&, const SemiDebiasedOutput<float>&, void*,
                                 cudaStream_t);
template void semi_debiased_loss(const SemiDebiasedProblem<double>&, const Ground&,
                                 const SinkhornOptions&, const SemiDebiasedOutput<double>&, void*,
                                 cudaStream_t);

}  // namespace obol::transport::cuda
