// Entropic transport, slowly and obviously: in double, with a logarithm and an exponential for
// every pair. Tests compare the fast solvers with it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace obol::transport::reference {

struct Problem {
  std::vector<double> cost;  // [rows, columns]
  std::vector<double> a;     // [rows], sums to 1
  std::vector<double> b;     // [columns], sums to 1
  double regularization = 1;
};

struct Solution {
  std::vector<double> f;
  std::vector<double> g;
  std::vector<double> plan;  // [rows, columns]
  double dual = 0;
  double primal = 0;
  double marginal_error = 0;  // L1, of the rows; the columns are met exactly
};

// -regularization log sum_k weight_k exp((potential_k - cost_k)/regularization), without overflow.
template <class Cost>
double softmin(std::size_t count, const std::vector<double>& weights,
               const std::vector<double>& potentials, double regularization, const Cost& cost) {
  double largest = -std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < count; ++k)
    if (weights[k] > 0) largest = std::max(largest, (potentials[k] - cost(k)) / regularization);
  double sum = 0;
  for (std::size_t k = 0; k < count; ++k)
    if (weights[k] > 0)
      sum += weights[k] * std::exp((potentials[k] - cost(k)) / regularization - largest);
  return -regularization * (largest + std::log(sum));
}

// Exactly `iterations` of: f from g, then g from f.
inline Solution solve(const Problem& problem, std::int64_t iterations) {
  const std::size_t n = problem.a.size();
  const std::size_t m = problem.b.size();
  const auto cost = [&](std::size_t i, std::size_t j) { return problem.cost[i * m + j]; };
  Solution s;
  s.f.assign(n, 0);
  s.g.assign(m, 0);
  for (std::int64_t t = 0; t < iterations; ++t) {
    for (std::size_t i = 0; i < n; ++i)
      s.f[i] = softmin(m, problem.b, s.g, problem.regularization,
                       [&](std::size_t j) { return cost(i, j); });
    for (std::size_t j = 0; j < m; ++j)
      s.g[j] = softmin(n, problem.a, s.f, problem.regularization,
                       [&](std::size_t i) { return cost(i, j); });
  }
  s.plan.assign(n * m, 0);
  for (std::size_t i = 0; i < n; ++i) {
    double row = 0;
    for (std::size_t j = 0; j < m; ++j) {
      double& mass = s.plan[i * m + j];
      if (problem.a[i] > 0 && problem.b[j] > 0)
        mass = problem.a[i] * problem.b[j] *
               std::exp((s.f[i] + s.g[j] - cost(i, j)) / problem.regularization);
      row += mass;
      s.primal += mass * cost(i, j);
    }
    s.marginal_error += std::abs(row - problem.a[i]);
  }
  for (std::size_t i = 0; i < n; ++i) s.dual += problem.a[i] * s.f[i];
  for (std::size_t j = 0; j < m; ++j) s.dual += problem.b[j] * s.g[j];
  return s;
}

}  // namespace obol::transport::reference
