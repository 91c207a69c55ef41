#include "obol/transport/exact.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/transport/exact_testing.h"

namespace obol::transport {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// The least mean cost over all permutations.
double brute_force(const Problem& problem) {
  std::vector<std::size_t> order(problem.rows);
  std::iota(order.begin(), order.end(), std::size_t{0});
  double best = kInf;
  do {
    double sum = 0;
    for (std::size_t i = 0; i < order.size(); ++i) sum += problem.view().at(i, order[i]);
    best = std::min(best, sum / static_cast<double>(order.size()));
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

TEST(ExactTransport, FindsTheBestOfAllPermutations) {
  Random random(1);
  for (const CostKind kind : kCostKinds) {
    for (std::size_t n = 1; n <= 7; ++n) {
      const Problem problem = make_problem(random, n, n, kind, WeightKind::kUniform);
      const double expected = brute_force(problem);
      const double tolerance = 1e-13 * (std::abs(expected) + largest(problem.cost));
      for (const auto solver : {ExactSolver::kAutomatic, ExactSolver::kSimplex}) {
        const ExactResult result = problem.solve({.solver = solver});
        EXPECT_NEAR(result.value, expected, tolerance) << n << " points";
        expect_proven(problem, result);
        EXPECT_EQ(result.plan.size(), n);
      }
    }
  }
}

TEST(ExactTransport, ProvesItsAnswerForAllShapesCostsAndWeights) {
  Random random(2);
  for (int round = 0; round < 30; ++round) {
    for (const CostKind cost : kCostKinds) {
      for (const WeightKind weights : kWeightKinds) {
        const std::size_t n = 1 + random() % 40;
        const std::size_t m = round % 3 == 0 ? n : 1 + random() % 40;
        SCOPED_TRACE(testing::Message()
                     << "round " << round << ", cost " << static_cast<int>(cost) << ", weights "
                     << static_cast<int>(weights) << ", " << n << " x " << m);
        expect_proven_by_solving(make_problem(random, n, m, cost, weights));
      }
    }
  }
}

TEST(ExactTransport, CopesWithVeryUnequalSides) {
  Random random(3);
  for (const WeightKind weights : kWeightKinds) {
    expect_proven_by_solving(make_problem(random, 1, 500, CostKind::kPlane, weights));
    expect_proven_by_solving(make_problem(random, 500, 1, CostKind::kPlane, weights));
    expect_proven_by_solving(make_problem(random, 2, 600, CostKind::kPlane, weights));
    expect_proven_by_solving(make_problem(random, 600, 3, CostKind::kPlane, weights));
  }
}

TEST(ExactTransport, SolvesSomeHundredPoints) {
  Random random(4);
  for (const CostKind cost : {CostKind::kPlane, CostKind::kTies, CostKind::kNoise}) {
    expect_proven_by_solving(make_problem(random, 300, 300, cost, WeightKind::kUniform));
    expect_proven_by_solving(make_problem(random, 300, 250, cost, WeightKind::kUniform));
    expect_proven_by_solving(make_problem(random, 300, 300, cost, WeightKind::kRandom));
  }
}

TEST(ExactTransport, TheTwoSolversAgree) {
  Random random(5);
  for (const CostKind cost : kCostKinds) {
    const Problem problem = make_problem(random, 80, 80, cost, WeightKind::kUniform);
    const ExactResult fast = problem.solve();
    const ExactResult slow = problem.solve({.solver = ExactSolver::kSimplex});
    EXPECT_NEAR(fast.value, slow.value, 1e-13 * largest(problem.cost));
  }
}

TEST(ExactTransport, LeavesAPermutedIdentityAlone) {
  constexpr std::size_t kSize = 50;
  Random random(6);
  std::vector<std::size_t> order(kSize);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::shuffle(order.begin(), order.end(), random);
  Problem problem{.rows = kSize, .columns = kSize, .cost = std::vector<double>(kSize * kSize, 1.0)};
  for (std::size_t i = 0; i < kSize; ++i) problem.cost[i * kSize + order[i]] = 0;
  for (const auto solver : {ExactSolver::kAutomatic, ExactSolver::kSimplex}) {
    const ExactResult result = problem.solve({.solver = solver});
    EXPECT_EQ(result.value, 0);
    for (const auto& entry : result.plan) EXPECT_EQ(entry.column, order[entry.row]);
  }
}

TEST(ExactTransport, DoesNotDependOnTheOrderOfPoints) {
  Random random(7);
  for (const WeightKind weights : {WeightKind::kUniform, WeightKind::kRandom}) {
    const Problem problem = make_problem(random, 40, 40, CostKind::kPlane, weights);
    std::vector<std::size_t> rows(problem.rows);
    std::vector<std::size_t> columns(problem.columns);
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    std::iota(columns.begin(), columns.end(), std::size_t{0});
    std::shuffle(rows.begin(), rows.end(), random);
    std::shuffle(columns.begin(), columns.end(), random);
    Problem shuffled = problem;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t j = 0; j < columns.size(); ++j) {
        shuffled.cost[i * columns.size() + j] = problem.view().at(rows[i], columns[j]);
      }
      if (!problem.a.empty()) shuffled.a[i] = problem.a[rows[i]];
      if (!problem.b.empty()) shuffled.b[i] = problem.b[columns[i]];
    }
    const ExactResult straight = problem.solve();
    ExactResult other = shuffled.solve();
    EXPECT_NEAR(other.value, straight.value, 1e-14);
    // The optimum is unique with probability one, so that the plans are the same, too.
    std::set<std::pair<std::size_t, std::size_t>> support;
    for (const auto& entry : straight.plan) {
      if (entry.mass > 1e-12) support.emplace(entry.row, entry.column);
    }
    for (const auto& entry : other.plan) {
      if (entry.mass <= 1e-12) continue;
      EXPECT_EQ(support.erase({rows[entry.row], columns[entry.column]}), 1U);
    }
    EXPECT_TRUE(support.empty());
  }
}

TEST(ExactTransport, TakesFloatsAsTheDoublesTheyAre) {
  Random random(8);
  for (const WeightKind weights : kWeightKinds) {
    Problem problem = make_problem(random, 30, 30, CostKind::kPlane, weights);
    std::vector<float> floats(problem.cost.begin(), problem.cost.end());
    problem.cost.assign(floats.begin(), floats.end());
    const ExactResult wide = problem.solve();
    const ExactResult narrow = exact_transport(
        CostView<float>{floats, problem.rows, problem.columns}, problem.a, problem.b);
    EXPECT_EQ(narrow.value, wide.value);
    EXPECT_EQ(narrow.plan, wide.plan);
    EXPECT_EQ(narrow.f, wide.f);
    EXPECT_EQ(narrow.g, wide.g);
  }
}

TEST(ExactTransport, IsBlindToOffsetsOfRowsAndColumns) {
  Random random(9);
  const Problem problem = make_problem(random, 30, 20, CostKind::kNoise, WeightKind::kCounts);
  Problem moved = problem;
  for (std::size_t i = 0; i < 30; ++i) {
    for (std::size_t j = 0; j < 20; ++j) {
      moved.cost[i * 20 + j] += static_cast<double>(i) * 8 - static_cast<double>(j) * 16;
    }
  }
  EXPECT_EQ(moved.solve().plan, problem.solve().plan);
}

// Costs that only stand for "never" must not drown the others.
TEST(ExactTransport, KeepsItsPrecisionBesideForbiddenEntries) {
  Random random(10);
  for (const WeightKind weights : {WeightKind::kUniform, WeightKind::kRandom}) {
    Problem problem = make_problem(random, 40, 40, CostKind::kPlane, weights);
    const double expected = problem.solve().value;
    const ExactResult open = problem.solve();
    std::set<std::pair<std::size_t, std::size_t>> support;
    for (const auto& entry : open.plan) support.emplace(entry.row, entry.column);
    for (std::size_t i = 0; i < problem.rows; ++i) {
      for (std::size_t j = 0; j < problem.columns; ++j) {
        if (random() % 2 == 0 && !support.contains({i, j})) problem.cost[i * 40 + j] = 1e12;
      }
    }
    const ExactResult result = problem.solve();
    EXPECT_NEAR(result.value, expected, 1e-12 * expected);
    EXPECT_LE(result.gap, 1e-9 * expected);
  }
}

// Potentials of the second block are some 1e12 and cannot tell small costs apart.
TEST(ExactTransport, DoesNotClaimAProofThatRoundingForbids) {
  Random random(13);
  Problem problem = make_problem(random, 20, 20, CostKind::kPlane, WeightKind::kUniform);
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t j = 0; j < 20; ++j) {
      if (i % 2 != j % 2) problem.cost[i * 20 + j] = 1e12;
    }
  }
  const ExactResult assigned = problem.solve();
  expect_proven(problem, assigned);
  const ExactResult result = problem.solve({.solver = ExactSolver::kSimplex});
  const bool precise = result.value - assigned.value <= 1e-9 * assigned.value;
  EXPECT_TRUE(precise || !result.converged);
  expect_feasible(problem, result);
}

TEST(ExactTransport, ProvesThatEqualPointsCostNothing) {
  Random random(14);
  for (const WeightKind weights : kWeightKinds) {
    Problem problem = make_problem(random, 30, 30, CostKind::kEqual, weights);
    std::vector<double> x(30);
    for (double& value : x) value = uniform(random);
    for (std::size_t i = 0; i < 30; ++i) {
      for (std::size_t j = 0; j < 30; ++j) problem.cost[i * 30 + j] = std::abs(x[i] - x[j]);
    }
    problem.b = problem.a;
    const ExactResult result = problem.solve();
    EXPECT_EQ(result.value, 0);
    EXPECT_TRUE(result.converged);
    expect_proven(problem, result);
  }
}

TEST(ExactTransport, TakesUniformWeightsForEmptySpans) {
  Random random(11);
  const Problem problem = make_problem(random, 12, 12, CostKind::kPlane, WeightKind::kUniform);
  const std::vector<double> weights(12, 0.25);
  const ExactResult implied = exact_transport(problem.view(), {}, {});
  const ExactResult given = exact_transport(problem.view(), weights, {});
  EXPECT_DOUBLE_EQ(given.value, 3 * implied.value);
  EXPECT_DOUBLE_EQ(exact_transport(problem.view(), {}, weights).value, given.value);
  EXPECT_DOUBLE_EQ(exact_transport(problem.view(), weights, weights).value, given.value);
  EXPECT_DOUBLE_EQ(implied.plan[0].mass, 1.0 / 12);
}

TEST(ExactTransport, ScalesWeightsOfAlmostEqualSums) {
  const std::vector<double> cost = {1, 2, 3, 4};
  const std::vector<double> a = {0.25, 0.75};
  const std::vector<double> b = {0.5 * (1 + 5e-10), 0.5 * (1 + 5e-10)};
  const ExactResult result = exact_transport(CostView<double>{cost, 2, 2}, a, b);
  double sum = 0;
  for (const auto& entry : result.plan) sum += entry.mass;
  EXPECT_EQ(sum, 1.0);
  EXPECT_NEAR(result.value, 0.25 * 2 + 0.25 * 4 + 0.5 * 3, 1e-15);
}

TEST(ExactTransport, TakesWeightsAtTheEndsOfTheRange) {
  const std::vector<double> cost = {1, 2, 3, 4, 5, 6};
  for (const double scale : {5e-324, 1e-310, 1e-300, 1e300}) {
    const std::vector<double> a = {3 * scale, scale};
    const std::vector<double> b = {scale, scale, 2 * scale};
    const ExactResult result = exact_transport(CostView<double>{cost, 2, 3}, a, b);
    double sum = 0;
    for (const auto& entry : result.plan) sum += entry.mass;
    EXPECT_EQ(sum, 4 * scale);
    EXPECT_TRUE(result.converged);
  }
}

TEST(ExactTransport, GivesAFeasiblePlanAndItsGapAtTheLimitOfPivots) {
  Random random(12);
  const Problem problem = make_problem(random, 60, 50, CostKind::kPlane, WeightKind::kRandom);
  const double best = problem.solve().value;
  const ExactResult result = problem.solve({.max_pivots = 10});
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(result.iterations, 10);
  expect_feasible(problem, result);
  EXPECT_GT(result.value, best);
  EXPECT_GE(result.gap, result.value - best - 1e-14);
}

std::string message_of(const Problem& problem) {
  try {
    (void)problem.solve();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no error";
}

TEST(ExactTransport, NamesTheEntryThatIsWrong) {
  const Problem good{.rows = 2, .columns = 3, .cost = {1, 2, 3, 4, 5, 6}};
  for (const double bad : {kNan, kInf, -kInf, 1e300}) {
    Problem problem = good;
    problem.cost[5] = bad;
    EXPECT_NE(message_of(problem).find("cost[1, 2] must be finite"), std::string::npos);
  }
  for (const double bad : {kNan, kInf, -1e-300}) {
    Problem problem = good;
    problem.a = {1, bad};
    EXPECT_NE(message_of(problem).find("a[1] must be finite and non-negative"), std::string::npos);
    problem.a = {};
    problem.b = {bad, 1, 1};
    EXPECT_NE(message_of(problem).find("b[0] must be finite and non-negative"), std::string::npos);
  }
}

TEST(ExactTransport, RejectsShapesAndSumsThatDoNotFit) {
  const Problem good{.rows = 2, .columns = 3, .cost = {1, 2, 3, 4, 5, 6}};
  const auto message = [&](auto change) {
    Problem problem = good;
    change(problem);
    return message_of(problem);
  };
  EXPECT_EQ(message([](Problem&) {}), "no error");
  EXPECT_EQ(message([](Problem& p) { p.rows = 0; }),
            "the number of rows must be positive, but is 0");
  EXPECT_EQ(message([](Problem& p) { p.columns = 0; }),
            "the number of columns must be positive, but is 0");
  EXPECT_EQ(message([](Problem& p) { p.cost.pop_back(); }),
            "the number of costs must be 2 x 3, but is 5");
  EXPECT_EQ(message([](Problem& p) {
              p.a = {1, 1, 1};
            }),
            "the number of weights a must be 0 or 2, that of rows, but is 3");
  EXPECT_EQ(message([](Problem& p) {
              p.a = {0.5, 0.5};
              p.b = {0.5, 0.25, 0.125};
            }),
            "the sum of b must be that of a, 1, but is 0.875");
  EXPECT_EQ(message([](Problem& p) {
              p.a = {0, 0};
            }),
            "the sum of a must be finite and positive, but is 0");
}

}  // namespace
}  // namespace obol::transport
