// Random transport problems of all sorts, and what must hold of their solutions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "obol/transport/exact.h"

namespace obol::transport {

using Random = std::mt19937_64;

struct Problem {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> cost;
  std::vector<double> a;
  std::vector<double> b;

  [[nodiscard]] CostView<double> view() const { return {cost, rows, columns}; }
  [[nodiscard]] ExactResult solve(const ExactOptions& options = {}) const {
    return exact_transport(view(), a, b, options);
  }
};

enum class CostKind { kPlane, kNoise, kTies, kEqual, kHuge, kTiny, kMixed };
inline constexpr std::array kCostKinds = {CostKind::kPlane, CostKind::kNoise, CostKind::kTies,
                                          CostKind::kEqual, CostKind::kHuge,  CostKind::kTiny,
                                          CostKind::kMixed};
enum class WeightKind { kUniform, kRandom, kZeros, kCounts, kDominated };
inline constexpr std::array kWeightKinds = {WeightKind::kUniform, WeightKind::kRandom,
                                            WeightKind::kZeros, WeightKind::kCounts,
                                            WeightKind::kDominated};

inline double uniform(Random& random) { return std::uniform_real_distribution<double>()(random); }

inline std::vector<double> make_cost(Random& random, std::size_t n, std::size_t m, CostKind kind) {
  std::vector<double> cost(n * m);
  if (kind == CostKind::kPlane) {
    std::vector<double> x(2 * n);
    std::vector<double> y(2 * m);
    for (double& value : x) value = uniform(random);
    for (double& value : y) value = uniform(random);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < m; ++j) {
        const double dx = x[2 * i] - y[2 * j];
        const double dy = x[2 * i + 1] - y[2 * j + 1];
        cost[i * m + j] = dx * dx + dy * dy;
      }
    }
    return cost;
  }
  for (double& value : cost) {
    const double draw = uniform(random) - 0.5;
    switch (kind) {
      case CostKind::kTies:
        value = static_cast<double>(random() % 4) - 1;
        break;
      case CostKind::kEqual:
        value = -3;
        break;
      case CostKind::kHuge:
        value = 1e12 * draw;
        break;
      case CostKind::kTiny:
        value = 1e-12 * draw;
        break;
      case CostKind::kMixed:  // over 24 orders of magnitude, and of both signs
        value = draw * std::pow(10.0, 24 * uniform(random) - 12);
        break;
      default:
        value = draw;
    }
  }
  return cost;
}

inline std::vector<double> make_weights(Random& random, std::size_t count, WeightKind kind) {
  std::vector<double> weights(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double draw = uniform(random) + 1e-3;
    weights[i] = kind == WeightKind::kDominated ? (i == 0 ? 1 : 1e-15 * draw) : draw;
    if (kind == WeightKind::kZeros && i > 0 && random() % 3 == 0) weights[i] = 0;
  }
  double sum = 0;
  for (const double weight : weights) sum += weight;
  for (double& weight : weights) weight /= sum;
  return weights;
}

inline Problem make_problem(Random& random, std::size_t n, std::size_t m, CostKind cost,
                            WeightKind weights) {
  Problem problem{.rows = n, .columns = m, .cost = make_cost(random, n, m, cost)};
  if (weights == WeightKind::kCounts) {  // many ties between sums of either side
    problem.a.assign(n, 0);
    problem.b.assign(m, 0);
    for (std::size_t k = 0; k < 3 * (n + m); ++k) {
      problem.a[random() % n] += 1;
      problem.b[random() % m] += 1;
    }
  } else if (weights != WeightKind::kUniform) {
    problem.a = make_weights(random, n, weights);
    problem.b = make_weights(random, m, weights);
  }
  return problem;
}

inline double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) result = std::max(result, std::abs(value));
  return result;
}

// Marginals, and a support that is a forest.
inline void expect_feasible(const Problem& problem, const ExactResult& result) {
  const auto weight = [](const std::vector<double>& weights, std::size_t i, std::size_t count) {
    return weights.empty() ? 1.0 / static_cast<double>(count) : weights[i];
  };
  double total = 0;
  std::vector<double> rows(problem.rows);
  std::vector<double> columns(problem.columns);
  std::set<std::pair<std::size_t, std::size_t>> seen;
  for (const auto& [row, column, mass] : result.plan) {
    ASSERT_LT(row, problem.rows);
    ASSERT_LT(column, problem.columns);
    EXPECT_GT(mass, 0);
    EXPECT_TRUE(seen.emplace(row, column).second);
    rows[row] += mass;
    columns[column] += mass;
    total += mass;
  }
  EXPECT_LT(result.plan.size(), problem.rows + problem.columns);
  for (std::size_t i = 0; i < problem.rows; ++i) {
    EXPECT_NEAR(rows[i], weight(problem.a, i, problem.rows), 1e-14 * total);
  }
  for (std::size_t j = 0; j < problem.columns; ++j) {
    EXPECT_NEAR(columns[j], weight(problem.b, j, problem.columns), 1e-14 * total);
  }
}

// Complementary slackness and no gap: a proof of optimality that does not believe the solver.
inline void expect_proven(const Problem& problem, const ExactResult& result) {
  expect_feasible(problem, result);
  const auto view = problem.view();
  const auto rounding = [&](std::size_t i, std::size_t j) {
    return 1e-14 * (std::abs(result.f[i]) + std::abs(result.g[j]) + std::abs(view.at(i, j)));
  };
  for (std::size_t i = 0; i < problem.rows; ++i) {
    for (std::size_t j = 0; j < problem.columns; ++j) {
      ASSERT_LE(result.f[i] + result.g[j], view.at(i, j) + rounding(i, j));
    }
  }
  const double slack = 1e-13 * largest(problem.cost);
  double size = 0;
  double total = 0;
  for (const auto& [row, column, mass] : result.plan) {
    EXPECT_NEAR(result.f[row] + result.g[column], view.at(row, column), slack);
    size += mass * std::abs(view.at(row, column));
    total += mass;
  }
  EXPECT_LE(std::abs(result.gap), 1e-9 * size + slack * total);
  // Where the largest cost dwarfs what is paid, its rounding may forbid the claim.
  EXPECT_TRUE(result.converged || slack * total > 1e-9 * size)
      << "a gap of " << result.gap << " for " << result.value << " and " << size;
}

inline void expect_proven_by_solving(const Problem& problem) {
  expect_proven(problem, problem.solve());
}

}  // namespace obol::transport
