#include "obol/transport/line.h"

#include <cmath>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/transport/exact_testing.h"

namespace obol::transport {
namespace {

TEST(LineTransport, PairsSortedPointsOfEqualWeight) {
  const std::vector<double> x = {3, -1, 2};
  const std::vector<double> y = {10, 0, 4};
  const LineResult result = line_transport(x, y, {}, {}, 1);
  EXPECT_DOUBLE_EQ(result.cost, (1 + 2 + 7) / 3.0);
  ASSERT_EQ(result.plan.size(), 3U);
  EXPECT_EQ(result.plan[0], (PlanEntry{1, 1, 1.0 / 3}));
  EXPECT_EQ(result.plan[1], (PlanEntry{2, 2, 1.0 / 3}));
  EXPECT_EQ(result.plan[2], (PlanEntry{0, 0, 1.0 / 3}));
}

TEST(LineTransport, SplitsWeights) {
  const std::vector<double> x = {0, 1};
  const std::vector<double> y = {0, 1};
  const std::vector<double> a = {0.75, 0.25};
  const std::vector<double> b = {0.25, 0.75};
  const LineResult result = line_transport(x, y, a, b, 2);
  EXPECT_EQ(result.cost, 0.5);
  const std::vector<PlanEntry> expected = {{0, 0, 0.25}, {0, 1, 0.5}, {1, 1, 0.25}};
  EXPECT_EQ(result.plan, expected);
}

TEST(LineTransport, MovesBothMarginalsByTheSameShiftAtItsPower) {
  const std::vector<double> x = {1, 5, 2, 8};
  const std::vector<double> y = {4, 8, 5, 11};
  for (const double p : {1.0, 1.5, 2.0, 3.0}) {
    EXPECT_NEAR(line_transport(x, y, {}, {}, p).cost, std::pow(3.0, p), 1e-13);
  }
}

void expect_agreement(Random& random, std::size_t n, std::size_t m, WeightKind weights, double p) {
  Problem problem = make_problem(random, n, m, CostKind::kEqual, weights);
  std::vector<double> x(n);
  std::vector<double> y(m);
  // Places out of eight, so that many coincide.
  for (double& value : x) value = static_cast<double>(random() % 8) - 4;
  for (double& value : y) value = 3 * uniform(random);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < m; ++j)
      problem.cost[i * m + j] = std::pow(std::abs(x[i] - y[j]), p);
  }
  const LineResult line = line_transport(x, y, problem.a, problem.b, p);
  ExactResult as_exact;
  as_exact.plan = line.plan;
  expect_feasible(problem, as_exact);
  EXPECT_NEAR(line.cost, problem.solve().value, 1e-12 * line.cost + 1e-15);
}

TEST(LineTransport, AgreesWithTheSolverForEveryMatrix) {
  Random random(21);
  for (int round = 0; round < 10; ++round) {
    for (const WeightKind weights : kWeightKinds) {
      for (const double p : {1.0, 1.5, 2.0, 4.0}) {
        const std::size_t n = 1 + random() % 30;
        expect_agreement(random, n, round % 2 == 0 ? n : 1 + random() % 30, weights, p);
      }
    }
  }
}

TEST(LineTransport, NamesWhatIsWrong) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const auto message = [](const std::vector<double>& x, const std::vector<double>& y, double p) {
    try {
      line_transport(x, y, {}, {}, p);
    } catch (const InvalidArgument& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(message({1}, {2}, 1), "no error");
  EXPECT_EQ(message({1}, {2}, 0.5), "p must be finite and at least 1, but is 0.5");
  EXPECT_EQ(message({1}, {2}, kNan), "p must be finite and at least 1, but is nan");
  EXPECT_EQ(message({1, kNan}, {2}, 1), "x[1] must be finite, but is nan");
  EXPECT_EQ(message({1}, {-HUGE_VAL}, 1), "y[0] must be finite, but is -inf");
  EXPECT_EQ(message({}, {2}, 1), "the number of rows must be positive, but is 0");
  EXPECT_EQ(message({1}, {}, 1), "the number of columns must be positive, but is 0");
}

}  // namespace
}  // namespace obol::transport
