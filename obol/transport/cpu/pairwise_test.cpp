#include "obol/transport/cpu/pairwise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/transport/cpu/testing.h"

namespace obol::transport::cpu {
namespace {

constexpr Ground kAbsolute{.kind = GroundCost::kAbsolute};
constexpr Ground kSquared{.kind = GroundCost::kSquared};
constexpr Ground kMixture{.kind = GroundCost::kMixture, .mixing = 0.75};
constexpr Ground kGrounds[] = {kAbsolute, kSquared, kMixture};

struct Shape {
  std::size_t n;
  std::size_t m;
  std::size_t d;
};
// One of everything; less, as much and more than a vector, a block, a tile and a sum.
constexpr Shape kShapes[] = {{1, 1, 1},    {1, 1, 17},    {1, 5, 3},    {5, 1, 64},  {2, 3, 7},
                             {4, 4, 16},   {4, 4, 32},    {7, 9, 31},   {8, 5, 100}, {3, 65, 129},
                             {50, 52, 53}, {13, 130, 33}, {6, 7, 1100}, {3, 3, 0},   {2, 0, 5}};

// Owns what an input points to. One element of everything is skipped, so that nothing is aligned,
// and between the rows lies what spoils every sum.
template <class T>
struct Problem {
  Problem(const Shape& size, const Ground& ground, double scale = 1)
      : shape(size), leading(shape.d + 3) {
    x = rows_of(shape.n, scale, 1);
    y = rows_of(shape.m, scale, 2);
    // Coordinates that are equal, for the sign of zero.
    for (std::size_t i = 0; i < std::min(shape.n, shape.m); ++i)
      for (std::size_t k = 0; k < shape.d; k += 3) x[1 + i * leading + k] = y[1 + i * leading + k];
    plan = reference::normal_values<T>(shape.n * shape.m, 1, 3);
    for (T& value : plan) value = std::abs(value);
    in = {{x.data() + 1, shape.n, leading}, {y.data() + 1, shape.m, leading}, shape.d, ground};
  }

  std::vector<T> rows_of(std::size_t count, double scale, unsigned seed) const {
    std::vector<T> values = reference::normal_values<T>(1 + count * leading, scale, seed);
    for (std::size_t i = 0; i < count; ++i)
      for (std::size_t k = shape.d; k < leading; ++k)
        values[1 + i * leading + k] = std::numeric_limits<T>::quiet_NaN();
    return values;
  }

  [[nodiscard]] PairwiseInput<T> exchanged() const { return {in.y, in.x, in.dimension, in.ground}; }
  [[nodiscard]] PlanView<T> plan_view() const { return {plan.data(), shape.m, 1}; }
  [[nodiscard]] PlanView<T> transposed_plan() const { return {plan.data(), 1, shape.m}; }

  [[nodiscard]] std::string name() const {
    return std::to_string(shape.n) + " x " + std::to_string(shape.m) + " x " +
           std::to_string(shape.d) + ", cost " + std::to_string(static_cast<int>(in.ground.kind));
  }

  Shape shape;
  std::size_t leading;
  std::vector<T> x;
  std::vector<T> y;
  std::vector<T> plan;
  PairwiseInput<T> in;
};

template <class T>
std::vector<T> cost_of(const PairwiseKernel<T>& kernel, const Problem<T>& problem) {
  const auto [n, m, d] = problem.shape;
  std::vector<T> cost(n * m);
  kernel.cost(problem.in, {0, n}, cost.data(), m);
  return cost;
}

template <class T>
std::vector<T> gradient_of(const PairwiseKernel<T>& kernel, const PairwiseInput<T>& in,
                           const PlanView<T>& plan) {
  std::vector<T> gradient(in.x.count * in.dimension, -7);
  kernel.gradient(in, plan, {0, in.x.count}, Write::kOverwrite, gradient.data(), in.dimension);
  return gradient;
}

// sum_j |P_ij dC_ij / dx_ik|: what errors of the gradient are relative to.
template <class T>
double gradient_scale(const PairwiseInput<T>& in, const PlanView<T>& plan, std::size_t i,
                      std::size_t k) {
  double scale = 0;
  for (std::size_t j = 0; j < in.y.count; ++j)
    scale += std::abs(plan.data[i * plan.row_stride + j * plan.column_stride] *
                      reference::slope(in.ground, reference::difference(in, i, j, k)));
  return scale;
}

template <class T>
void expect_gradient(const PairwiseInput<T>& in, const PlanView<T>& plan) {
  const std::vector<double> expected = reference::pairwise_gradient(in, plan);
  const auto kernels = pairwise_kernels<T>();
  const std::vector<T> first = gradient_of(kernels.front(), in, plan);
  for (const PairwiseKernel<T>& kernel : kernels) {
    SCOPED_TRACE(kernel.name);
    EXPECT_TRUE(reference::same_bits(gradient_of(kernel, in, plan), first));
  }
  for (std::size_t i = 0; i < in.x.count; ++i)
    for (std::size_t k = 0; k < in.dimension; ++k)
      EXPECT_NEAR(first[i * in.dimension + k], expected[i * in.dimension + k],
                  10 * std::numeric_limits<T>::epsilon() * gradient_scale(in, plan, i, k));
}

template <class T>
class Pairwise : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Pairwise, Types);

TYPED_TEST(Pairwise, CostFollowsItsDefinitionForEveryShapeAndKernel) {
  for (const Ground& ground : kGrounds) {
    for (const Shape& shape : kShapes) {
      const Problem<TypeParam> problem(shape, ground);
      const std::vector<double> expected = reference::pairwise_cost(problem.in);
      const auto kernels = pairwise_kernels<TypeParam>();
      const std::vector<TypeParam> first = cost_of(kernels.front(), problem);
      for (const auto& kernel : kernels) {
        SCOPED_TRACE(std::string(kernel.name) + ", " + problem.name());
        EXPECT_TRUE(reference::same_bits(cost_of(kernel, problem), first));
      }
      for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(first[i], expected[i],
                    8 * std::numeric_limits<TypeParam>::epsilon() * expected[i])
            << problem.name();
    }
  }
}

TYPED_TEST(Pairwise, GradientFollowsItsDefinitionForBothSides) {
  for (const Ground& ground : kGrounds)
    for (const Shape& shape : kShapes) {
      const Problem<TypeParam> problem(shape, ground);
      SCOPED_TRACE(problem.name());
      expect_gradient(problem.in, problem.plan_view());
      expect_gradient(problem.exchanged(), problem.transposed_plan());
    }
}

TYPED_TEST(Pairwise, CostKeepsItsAccuracyInManyDimensions) {
  for (const Ground& ground : kGrounds)
    for (const std::size_t d : {784, 794, 12288}) {
      const Problem<TypeParam> problem({5, 6, d}, ground);
      const std::vector<double> expected = reference::pairwise_cost(problem.in);
      const std::vector<TypeParam> cost = cost_of(pairwise_kernels<TypeParam>().front(), problem);
      for (std::size_t i = 0; i < cost.size(); ++i)
        EXPECT_NEAR(cost[i] / expected[i], 1, 6 * std::numeric_limits<TypeParam>::epsilon());
    }
}

// Equal terms are rounded in one direction for as long as their sum has one exponent, which a long
// chain of additions shows more than random terms do.
TYPED_TEST(Pairwise, CostSumsManyEqualTermsWithoutDrift) {
  constexpr std::size_t kDimension = 12288;
  for (const double value : {0.1, 0.3, 0.7}) {
    const std::vector<TypeParam> x(kDimension, static_cast<TypeParam>(value));
    const std::vector<TypeParam> y(kDimension, 0);
    const PairwiseInput<TypeParam> in{
        {x.data(), 1, kDimension}, {y.data(), 1, kDimension}, kDimension, kAbsolute};
    TypeParam cost = 0;
    pairwise_cost(in, {0, 1}, &cost, 1);
    EXPECT_NEAR(cost / (kDimension * static_cast<double>(x[0])), 1,
                4 * std::numeric_limits<TypeParam>::epsilon());
  }
}

TYPED_TEST(Pairwise, CostDoesNotCancelFarFromTheOrigin) {
  for (const Ground& ground : kGrounds) {
    Problem<TypeParam> problem({6, 5, 40}, ground);
    for (auto* points : {&problem.x, &problem.y})
      for (TypeParam& value : *points) value += TypeParam{1e6};
    const std::vector<double> expected = reference::pairwise_cost(problem.in);
    const std::vector<TypeParam> cost = cost_of(pairwise_kernels<TypeParam>().front(), problem);
    for (std::size_t i = 0; i < cost.size(); ++i)
      EXPECT_NEAR(cost[i], expected[i],
                  8 * std::numeric_limits<TypeParam>::epsilon() * expected[i]);
    expect_gradient(problem.in, problem.plan_view());
  }
}

TEST(PairwiseGradient, IsTheSlopeOfThePlannedCost) {
  for (const Ground& ground : kGrounds) {
    Problem<double> problem({3, 4, 19}, ground);
    const auto& kernel = pairwise_kernels<double>().front();
    const auto planned_cost = [&] {
      const std::vector<double> cost = cost_of(kernel, problem);
      double sum = 0;
      for (std::size_t i = 0; i < cost.size(); ++i) sum += problem.plan[i] * cost[i];
      return sum;
    };
    const std::vector<double> gradient = gradient_of(kernel, problem.in, problem.plan_view());
    constexpr double kStep = 1e-6;
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t k = 0; k < 19; ++k) {
        double& value = problem.x[1 + i * problem.leading + k];
        const double before = value;
        value = before + kStep;
        const double above = planned_cost();
        value = before - kStep;
        const double below = planned_cost();
        value = before;
        // At a kink the two-sided slope is that of the sign 0.
        EXPECT_NEAR((above - below) / (2 * kStep), gradient[i * 19 + k], 1e-6);
      }
    }
  }
}

TYPED_TEST(Pairwise, EqualPointsCostAndPullNothing) {
  for (const Ground& ground : kGrounds) {
    const std::vector<TypeParam> points(8 * 21, TypeParam{3.5});
    const std::vector<TypeParam> plan(64, TypeParam{1});
    const PairwiseInput<TypeParam> in{{points.data(), 8, 21}, {points.data(), 8, 21}, 21, ground};
    for (const auto& kernel : pairwise_kernels<TypeParam>()) {
      std::vector<TypeParam> cost(64, 1);
      kernel.cost(in, {0, 8}, cost.data(), 8);
      EXPECT_EQ(cost, std::vector<TypeParam>(64, 0));
      EXPECT_EQ(gradient_of(kernel, in, {plan.data(), 8, 1}), std::vector<TypeParam>(8 * 21, 0));
    }
  }
}

TYPED_TEST(Pairwise, GradientIsAddedToWhatIsThereWhenAsked) {
  for (const Ground& ground : kGrounds) {
    const Problem<TypeParam> problem({6, 70, 37}, ground);
    for (const auto& kernel : pairwise_kernels<TypeParam>()) {
      const std::vector<TypeParam> once = gradient_of(kernel, problem.in, problem.plan_view());
      std::vector<TypeParam> sum(6 * 40, 100);
      kernel.gradient(problem.in, problem.plan_view(), {0, 6}, Write::kAccumulate, sum.data(), 40);
      for (std::size_t i = 0; i < 6; ++i) {
        for (std::size_t k = 0; k < 37; ++k)
          EXPECT_NEAR(sum[i * 40 + k] - 100, once[i * 37 + k],
                      std::numeric_limits<TypeParam>::epsilon() * 500);
        EXPECT_EQ(sum[i * 40 + 37], 100) << "beyond the row";
      }
    }
  }
}

TYPED_TEST(Pairwise, DoesNotDependOnTheRangesOfRows) {
  for (const Ground& ground : kGrounds) {
    const Problem<TypeParam> problem({11, 9, 45}, ground);
    const auto& kernel = pairwise_kernels<TypeParam>().front();
    std::vector<TypeParam> cost(11 * 9);
    std::vector<TypeParam> gradient(11 * 45);
    for (const RowRange rows : {RowRange{0, 1}, RowRange{1, 6}, RowRange{6, 6}, RowRange{6, 11}}) {
      pairwise_cost(problem.in, rows, cost.data(), 9);
      pairwise_gradient(problem.in, problem.plan_view(), rows, Write::kOverwrite, gradient.data(),
                        45);
    }
    EXPECT_TRUE(reference::same_bits(cost, cost_of(kernel, problem)));
    EXPECT_TRUE(
        reference::same_bits(gradient, gradient_of(kernel, problem.in, problem.plan_view())));
  }
}

TYPED_TEST(Pairwise, CostLeavesWhatLiesBetweenItsRowsAlone) {
  const Problem<TypeParam> problem({5, 6, 20}, kMixture);
  for (const auto& kernel : pairwise_kernels<TypeParam>()) {
    std::vector<TypeParam> cost(5 * 8, -7);
    kernel.cost(problem.in, {1, 4}, cost.data(), 8);
    for (std::size_t i = 0; i < 5; ++i)
      for (std::size_t j = 0; j < 8; ++j)
        EXPECT_EQ(cost[i * 8 + j] == -7, i < 1 || i >= 4 || j >= 6) << kernel.name;
  }
}

TYPED_TEST(Pairwise, RefusesArgumentsThatCannotBeMeant) {
  const Problem<TypeParam> problem({2, 3, 4}, kMixture);
  std::vector<TypeParam> out(64);
  const auto cost = [&](const PairwiseInput<TypeParam>& in, RowRange rows, std::size_t leading) {
    pairwise_cost(in, rows, out.data(), leading);
  };
  EXPECT_NO_THROW(cost(problem.in, {0, 2}, 3));
  EXPECT_THROW(cost(problem.in, {0, 3}, 3), InvalidArgument);
  EXPECT_THROW(cost(problem.in, {0, 2}, 2), InvalidArgument);
  PairwiseInput<TypeParam> in = problem.in;
  in.ground.mixing = -1;
  EXPECT_THROW(cost(in, {0, 2}, 3), InvalidArgument);
  in = problem.in;
  in.y.leading = 3;
  EXPECT_THROW(cost(in, {0, 2}, 3), InvalidArgument);
}

}  // namespace
}  // namespace obol::transport::cpu
