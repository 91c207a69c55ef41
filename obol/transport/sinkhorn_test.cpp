#include "obol/transport/sinkhorn.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/transport/testing.h"

namespace obol::transport {
namespace {

// Squared distances of points around 0 and around 1/2 in three dimensions, and random weights.
reference::Problem random_problem(std::size_t n, std::size_t m, double regularization,
                                  unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<> normal;
  std::uniform_real_distribution<> uniform(0.1, 1);
  constexpr std::size_t kDimension = 3;
  const auto points = [&](std::size_t count, double shift) {
    std::vector<double> values(count * kDimension);
    for (double& value : values) value = normal(bits) + shift;
    return values;
  };
  const auto weights = [&](std::size_t count) {
    std::vector<double> values(count);
    double sum = 0;
    for (double& value : values) sum += value = uniform(bits);
    for (double& value : values) value /= sum;
    return values;
  };
  const std::vector<double> x = points(n, 0);
  const std::vector<double> y = points(m, 0.5);
  reference::Problem problem{.cost = std::vector<double>(n * m),
                             .a = weights(n),
                             .b = weights(m),
                             .regularization = regularization};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < m; ++j)
      for (std::size_t k = 0; k < kDimension; ++k)
        problem.cost[i * m + j] += std::pow(x[i * kDimension + k] - y[j * kDimension + k], 2);
  return problem;
}

template <class T>
struct Typed {
  std::vector<T> cost;
  std::vector<double> a;
  std::vector<double> b;

  explicit Typed(const reference::Problem& problem)
      : cost(problem.cost.begin(), problem.cost.end()), a(problem.a), b(problem.b) {}

  [[nodiscard]] CostView<T> matrix() const { return {cost, a.size(), b.size()}; }
  [[nodiscard]] SinkhornResult solve(const SinkhornOptions& options) const {
    return sinkhorn<T>(matrix(), {a, b}, options);
  }
};

struct Shape {
  std::size_t n;
  std::size_t m;
};

TEST(Sinkhorn, AgreesWithTheReferenceOverShapesAndRegularizations) {
  unsigned seed = 0;
  for (const Shape& shape : {Shape{1, 1}, {1, 7}, {9, 1}, {2, 3}, {17, 16}, {5, 120}, {130, 8}}) {
    for (const double regularization : {0.1, 1.0, 10.0, 1e4}) {
      const auto problem = random_problem(shape.n, shape.m, regularization, ++seed);
      const auto expected = reference::solve(problem, 4000);
      const auto fine = Typed<double>(problem).solve(
          {.regularization = regularization, .tolerance = 1e-11, .max_iterations = 20000});
      EXPECT_TRUE(fine.converged) << shape.n << " x " << shape.m << " at " << regularization;
      EXPECT_NEAR(fine.dual, expected.dual, 1e-9 * (1 + std::abs(expected.dual)));
      EXPECT_NEAR(fine.primal, expected.primal, 1e-8 * (1 + expected.primal));
      const auto coarse = Typed<float>(problem).solve({.regularization = regularization});
      if (!coarse.converged) continue;
      EXPECT_NEAR(coarse.dual, expected.dual, 1e-4 * std::abs(expected.dual));
      EXPECT_NEAR(coarse.primal, expected.primal, 1e-4 * expected.primal);
    }
  }
}

TEST(Sinkhorn, CountsItsIterationsAsTheReferenceDoes) {
  const auto problem = random_problem(12, 9, 0.3, 5);
  const auto result =
      Typed<double>(problem).solve({.regularization = 0.3, .tolerance = 0, .max_iterations = 7});
  const auto expected = reference::solve(problem, 7);
  EXPECT_EQ(result.iterations, 7);
  EXPECT_FALSE(result.converged);
  EXPECT_NEAR(result.marginal_error, expected.marginal_error, 1e-12);
  for (std::size_t i = 0; i < expected.f.size(); ++i)
    EXPECT_NEAR(result.f[i], expected.f[i], 1e-12);
}

TEST(Sinkhorn, BetweenTwoDiracsIsTheirCost) {
  const double cost = 3.25;
  const auto result = sinkhorn<double>({{&cost, 1}, 1, 1}, {}, {.regularization = 0.7});
  EXPECT_TRUE(result.converged);
  EXPECT_NEAR(result.dual, cost, 1e-14);
  EXPECT_NEAR(result.primal, cost, 1e-14);
}

TEST(Sinkhorn, FindsAPermutationAsTheRegularizationVanishes) {
  constexpr std::size_t kSize = 20;
  std::vector<std::size_t> partner(kSize);
  for (std::size_t i = 0; i < kSize; ++i) partner[i] = (7 * i + 3) % kSize;
  std::vector<double> cost(kSize * kSize, 5.0);
  for (std::size_t i = 0; i < kSize; ++i) cost[i * kSize + partner[i]] = 1;
  const auto result = sinkhorn<double>({cost, kSize, kSize}, {}, {.regularization = 0.05});
  EXPECT_TRUE(result.converged);
  EXPECT_NEAR(result.primal, 1, 1e-9);
}

TEST(Sinkhorn, OfAMatrixThatIsTheSameEverywhereIsTheProductOfTheWeights) {
  const std::vector<float> cost(24, 2.5F);
  const auto result = sinkhorn<float>({cost, 6, 4}, {}, {.regularization = 0.1});
  EXPECT_TRUE(result.converged);
  EXPECT_NEAR(result.dual, 2.5, 1e-5);
  std::vector<float> plan(cost.size());
  transport_plan<float>({cost, 6, 4}, {}, {result.f, result.g}, 0.1, plan.data());
  for (const float mass : plan) EXPECT_NEAR(mass, 1.0 / 24, 1e-6);
}

TEST(Sinkhorn, ScalesWithCostAndRegularizationTogether) {
  auto problem = random_problem(15, 11, 0.4, 8);
  const auto result = Typed<double>(problem).solve({.regularization = 0.4});
  for (double& value : problem.cost) value *= 1e6;
  const auto scaled = Typed<double>(problem).solve({.regularization = 0.4e6});
  EXPECT_NEAR(scaled.dual, 1e6 * result.dual, 1e-3);
  EXPECT_EQ(scaled.iterations, result.iterations);
}

TEST(Sinkhorn, PointsWithoutWeightTakeNoPartAndHavePotentials) {
  auto problem = random_problem(6, 5, 0.5, 3);
  auto padded = random_problem(7, 5, 0.5, 3);
  padded.b = problem.b;
  padded.a.assign(problem.a.begin(), problem.a.end());
  padded.a.insert(padded.a.begin() + 2, 0.0);
  for (std::size_t i = 0, from = 0; i < 7; ++i) {
    if (i == 2) continue;
    for (std::size_t j = 0; j < 5; ++j) padded.cost[i * 5 + j] = problem.cost[from * 5 + j];
    ++from;
  }
  const SinkhornOptions options{.regularization = 0.5, .tolerance = 1e-12};
  const auto with = Typed<double>(padded).solve(options);
  const auto without = Typed<double>(problem).solve(options);
  EXPECT_TRUE(with.converged);
  EXPECT_NEAR(with.dual, without.dual, 1e-10);
  EXPECT_TRUE(std::isfinite(with.f[2]));
}

TEST(Sinkhorn, GoesOnWhereItStopped) {
  const Typed<double> problem(random_problem(40, 30, 0.2, 4));
  const auto first = problem.solve({.regularization = 0.2, .tolerance = 1e-8});
  const Potentials start{first.f, first.g};
  const auto again = sinkhorn<double>(problem.matrix(), {problem.a, problem.b},
                                      {.regularization = 0.2, .tolerance = 1e-8}, &start);
  EXPECT_LE(again.iterations, 1);
  EXPECT_GT(first.iterations, 10);
}

TEST(Sinkhorn, OverRelaxedTakesFewerIterationsToTheSameResult) {
  const Typed<double> problem(random_problem(60, 50, 0.05, 6));
  const SinkhornOptions plain{.regularization = 0.05, .tolerance = 1e-7, .max_iterations = 100000};
  SinkhornOptions relaxed = plain;
  relaxed.over_relaxation = 1.6;
  const auto slow = problem.solve(plain);
  const auto quick = problem.solve(relaxed);
  EXPECT_TRUE(quick.converged);
  EXPECT_LT(quick.iterations, 0.8 * static_cast<double>(slow.iterations));
  EXPECT_NEAR(quick.dual, slow.dual, 1e-9);
}

TEST(Sinkhorn, AnnealedTakesOneSweepPerHalvingAndSaysWhatIsMissing) {
  const auto problem = random_problem(50, 52, 0.05, 7);
  const double largest = *std::max_element(problem.cost.begin(), problem.cost.end());
  const auto result =
      Typed<double>(problem).solve({.regularization = 0.05, .stopping = Stopping::kAnnealed});
  EXPECT_EQ(result.iterations, static_cast<std::int64_t>(std::ceil(std::log2(largest / 0.05))) + 1);
  EXPECT_FALSE(result.converged);
  EXPECT_GT(result.marginal_error, 1e-4) << "which is what the papers' schedule leaves";
  EXPECT_LT(result.marginal_error, 1);
}

TEST(Sinkhorn, InPartsGivesTheSameBits) {
  const Typed<float> problem(random_problem(37, 41, 0.3, 9));
  SinkhornOptions options{.regularization = 0.3};
  const auto whole = problem.solve(options);
  options.parallel = [](std::size_t count, const auto& body) {
    for (std::size_t begin = 0; begin < count; begin += 5) body(begin, std::min(begin + 5, count));
  };
  const auto parts = problem.solve(options);
  EXPECT_EQ(whole.f, parts.f);
  EXPECT_EQ(whole.g, parts.g);
  EXPECT_EQ(whole.primal, parts.primal);
}

TEST(Sinkhorn, IsNeverNanAndSaysWhereItsPrecisionDoesNotSuffice) {
  for (const double relative : {1e-6, 1e-4, 1e-2, 1.0, 1e4}) {
    for (const double scale : {1e-6, 1.0, 1e12}) {
      auto problem = random_problem(25, 20, 1, 10);
      double mean = 0;
      for (double& value : problem.cost) mean += (value *= scale) / 500;
      const SinkhornOptions options{.regularization = relative * mean, .max_iterations = 300};
      const auto coarse = Typed<float>(problem).solve(options);
      const auto fine = Typed<double>(problem).solve(options);
      EXPECT_TRUE(std::isfinite(coarse.dual)) << relative << " " << scale;
      EXPECT_TRUE(std::isfinite(coarse.primal));
      EXPECT_TRUE(std::isfinite(coarse.marginal_error));
      EXPECT_TRUE(std::isfinite(fine.dual));
      if (!coarse.converged) continue;
      EXPECT_NEAR(coarse.dual, fine.dual, 1e-4 * std::abs(fine.dual));
    }
  }
}

TEST(SelfTransport, IsTransportBetweenAMeasureAndItself) {
  auto problem = random_problem(30, 30, 0.2, 12);
  for (std::size_t i = 0; i < 30; ++i)
    for (std::size_t j = 0; j < 30; ++j)
      problem.cost[i * 30 + j] = std::pow(static_cast<double>(i) - static_cast<double>(j), 2) / 50;
  problem.b = problem.a;
  const SinkhornOptions options{.regularization = 0.2, .tolerance = 1e-11};
  const Typed<double> typed(problem);
  const auto both = typed.solve(options);
  const auto self = sinkhorn_self<double>(typed.matrix(), typed.a, options);
  EXPECT_TRUE(self.converged);
  EXPECT_NEAR(self.dual, both.dual, 1e-9);
  EXPECT_NEAR(self.primal, both.primal, 1e-9);
  EXPECT_LT(self.iterations, both.iterations);
  const Typed<float> coarse(problem);
  const auto rough = sinkhorn_self<float>(coarse.matrix(), coarse.a, {.regularization = 0.2});
  EXPECT_NEAR(rough.dual, both.dual, 1e-4 * std::abs(both.dual));
}

TEST(SelfTransport, NeedsASquareMatrix) {
  const std::vector<double> cost(6, 1.0);
  EXPECT_THROW(sinkhorn_self<double>({cost, 2, 3}, {}, {.regularization = 1}), InvalidArgument);
}

TEST(Sinkhorn, NamesWhatCannotBeMeantAndWhereItStands) {
  const auto message = [](const std::function<void()>& call) -> std::string {
    try {
      call();
    } catch (const InvalidArgument& error) {
      return error.what();
    }
    return "";
  };
  std::vector<double> cost(6, 1.0);
  const CostView<double> matrix{cost, 2, 3};
  const SinkhornOptions good{.regularization = 1};
  const auto solve = [&](const Weights& weights, const SinkhornOptions& options) {
    return message([&] { sinkhorn<double>(matrix, weights, options); });
  };
  EXPECT_NE(solve({}, {.regularization = 0}).find("regularization"), std::string::npos);
  EXPECT_NE(solve({}, {.regularization = 1, .over_relaxation = 2}).find("over_relaxation"),
            std::string::npos);
  const std::vector<double> bad = {1.5, -0.5};
  EXPECT_NE(solve({.a = bad, .b = {}}, good).find("a[1]"), std::string::npos);
  const std::vector<double> heavy = {1, 1};
  EXPECT_NE(solve({.a = heavy, .b = {}}, good).find("sum"), std::string::npos);
  EXPECT_NE(solve({.a = {}, .b = heavy}, good).find("number of weights b"), std::string::npos);
  cost[4] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NE(solve({}, good).find("cost[1, 1]"), std::string::npos);
  EXPECT_NE(message([&] {
              sinkhorn<double>({{}, 0, 3}, {}, good);
            }).find("0 x 3"),
            std::string::npos);
}

TEST(Sinkhorn, IsTheSameWithAnyNumberOfThreads) {
  const auto problem = random_problem(600, 530, 0.05, 5);
  const Typed<float> typed(problem);
  const auto in_parts = [](std::size_t parts) {
    return [parts](std::size_t count, const std::function<void(std::size_t, std::size_t)>& body) {
      for (std::size_t p = 0; p < parts; ++p) body(count * p / parts, count * (p + 1) / parts);
    };
  };
  const SinkhornOptions plain{.regularization = 0.05, .tolerance = 1e-7};
  const SinkhornResult alone = typed.solve(plain);
  EXPECT_TRUE(alone.converged);
  for (const std::size_t parts : {2, 3, 7}) {
    SinkhornOptions split = plain;
    split.parallel = in_parts(parts);
    const SinkhornResult result = typed.solve(split);
    EXPECT_EQ(result.f, alone.f);
    EXPECT_EQ(result.g, alone.g);
    EXPECT_EQ(result.iterations, alone.iterations);
  }
}

TEST(Sinkhorn, TakesExactlyTheIterationsItIsAllowed) {
  const auto problem = random_problem(70, 60, 0.05, 6);
  for (const std::int64_t most : {1, 2, 3, 4, 50}) {
    for (const double annealing : {1.0, 0.5}) {
      const SinkhornResult result = Typed<double>(problem).solve(
          {.regularization = 0.05, .tolerance = 0, .max_iterations = most, .annealing = annealing});
      EXPECT_EQ(result.iterations, most);
      const auto expected = reference::solve(problem, most);
      if (annealing < 1) continue;
      EXPECT_NEAR(result.dual, expected.dual, 1e-9 * std::abs(expected.dual)) << most;
    }
  }
}

}  // namespace
}  // namespace obol::transport
