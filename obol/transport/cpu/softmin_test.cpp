#include "obol/transport/cpu/softmin.h"

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

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Owns what an input points to; one element of everything is skipped, so that nothing is aligned.
template <class T>
struct SoftminProblem {
  SoftminProblem(std::size_t row_count, std::size_t columns, std::size_t padding, double scale,
                 double epsilon)
      : rows(row_count), leading(columns + padding) {
    cost = reference::normal_values<T>(1 + rows * leading, scale, 1);
    for (T& value : cost) value = std::abs(value);
    // What lies between the rows must not be read, or at least not be used.
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = columns; j < leading; ++j)
        cost[1 + i * leading + j] = std::numeric_limits<T>::quiet_NaN();
    h = reference::normal_values<T>(1 + columns, 1, 2);
    in = {cost.data() + 1, leading, columns, h.data() + 1, epsilon};
  }

  // Each argument of an exponential is rounded some times, relatively to its size.
  [[nodiscard]] double argument_error() const {
    double largest = 1;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < in.columns; ++j)
        largest = std::max(largest, std::abs(in.cost[i * leading + j]) / in.epsilon);
    for (std::size_t j = 0; j < in.columns; ++j)
      if (std::isfinite(in.h[j])) largest = std::max<double>(largest, std::abs(in.h[j]));
    return (2 * largest + 4) * std::numeric_limits<T>::epsilon();
  }

  std::size_t rows;
  std::size_t leading;
  std::vector<T> cost;
  std::vector<T> h;
  SoftminInput<T> in;
};

template <class T>
std::vector<T> run(const SoftminKernel<T>& kernel, const SoftminProblem<T>& problem) {
  std::vector<T> out(problem.rows);
  kernel.softmin(problem.in, {0, problem.rows}, out.data());
  return out;
}

template <class T>
void expect_definition(const SoftminProblem<T>& problem) {
  const std::vector<double> expected = reference::softmin(problem.in, problem.rows);
  const double tolerance = problem.in.epsilon * problem.argument_error();
  const auto kernels = softmin_kernels<T>();
  const std::vector<T> first = run(kernels.front(), problem);
  for (const SoftminKernel<T>& kernel : kernels) {
    SCOPED_TRACE(std::string(kernel.name) + ", " + std::to_string(problem.rows) + " x " +
                 std::to_string(problem.in.columns));
    const std::vector<T> out = run(kernel, problem);
    EXPECT_TRUE(reference::same_bits(out, first));
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (std::isinf(expected[i]))
        EXPECT_EQ(out[i], expected[i]);
      else
        EXPECT_NEAR(out[i], expected[i], tolerance);
    }
  }
}

template <class T>
class Softmin : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Softmin, Types);

TYPED_TEST(Softmin, FollowsItsDefinitionForEveryWidthAndKernel) {
  for (std::size_t columns = 0; columns <= 140; ++columns)
    expect_definition(SoftminProblem<TypeParam>(3, columns, columns % 3, 1, 0.1));
  for (const std::size_t columns : {511, 512, 513, 1000, 8192})
    expect_definition(SoftminProblem<TypeParam>(5, columns, 0, 1, 0.05));
  expect_definition(SoftminProblem<TypeParam>(1, 1, 0, 1, 1));
  expect_definition(SoftminProblem<TypeParam>(0, 4, 0, 1, 1));
}

TYPED_TEST(Softmin, SumsManyEqualTermsWithoutLoss) {
  SoftminProblem<TypeParam> problem(2, 8192, 0, 0, 1);
  std::fill(problem.h.begin(), problem.h.end(), TypeParam{0});
  for (const auto& kernel : softmin_kernels<TypeParam>())
    EXPECT_EQ(run(kernel, problem)[1], static_cast<TypeParam>(-std::log(8192.0))) << kernel.name;
}

// sum_j exp(h_j), as far as its rounded logarithm shows it.
template <class T>
void expect_sum_of_exponentials(const std::vector<T>& h) {
  const std::vector<T> zeros(h.size(), 0);
  const SoftminInput<T> in{zeros.data(), h.size(), h.size(), h.data(), 1};
  long double expected = 0;
  for (const T value : h) expected += std::exp(static_cast<long double>(value));
  for (const auto& kernel : softmin_kernels<T>()) {
    T out = 0;
    kernel.softmin(in, {0, 1}, &out);
    EXPECT_NEAR(out, static_cast<double>(-std::log(expected)),
                (3 + std::abs(static_cast<double>(out))) * std::numeric_limits<T>::epsilon())
        << kernel.name;
  }
}

TYPED_TEST(Softmin, SumsManyEqualTermsWithoutDrift) {
  for (const double value : {-0.1, -0.3, -0.7}) {
    std::vector<TypeParam> h(8192, static_cast<TypeParam>(value));
    h[0] = 0;
    expect_sum_of_exponentials(h);
  }
}

TYPED_TEST(Softmin, LosesNothingWhenItsFirstColumnsAreTheLeast) {
  for (const double value : {0.3, 0.7, 1.1}) {
    std::vector<TypeParam> h(300, static_cast<TypeParam>(value));
    std::fill_n(h.begin(), 64, static_cast<TypeParam>(-50.1));
    expect_sum_of_exponentials(h);
  }
}

TYPED_TEST(Softmin, GivesColumnsWithoutWeightNoPart) {
  for (const std::size_t columns : {1, 7, 64, 100, 700}) {
    SoftminProblem<TypeParam> problem(4, columns, 1, 1, 0.2);
    for (std::size_t j = 0; j < columns; ++j)
      if (j % 3 != 1) problem.h[1 + j] = static_cast<TypeParam>(-kInfinity);
    expect_definition(problem);
    // However cheap they are.
    for (std::size_t j = 0; j < columns; j += 3)
      for (std::size_t i = 0; i < 4; ++i) problem.cost[1 + i * problem.leading + j] = -1e6;
    expect_definition(problem);
  }
}

TYPED_TEST(Softmin, IsInfiniteWhereNothingHasWeight) {
  for (const std::size_t columns : {0, 1, 64, 99}) {
    SoftminProblem<TypeParam> problem(2, columns, 0, 1, 0.2);
    std::fill(problem.h.begin(), problem.h.end(), static_cast<TypeParam>(-kInfinity));
    for (const auto& kernel : softmin_kernels<TypeParam>()) {
      std::vector<TypeParam> out(2);
      kernel.softmin(problem.in, {0, 2}, out.data());
      EXPECT_EQ(out, std::vector<TypeParam>(2, static_cast<TypeParam>(kInfinity)));
    }
  }
}

TYPED_TEST(Softmin, HoldsForCostsOfHundredMillionEpsilons) {
  for (const std::size_t columns : {3, 65, 300}) {
    expect_definition(SoftminProblem<TypeParam>(4, columns, 0, 1e3, 1e-5));
    expect_definition(SoftminProblem<TypeParam>(4, columns, 0, 1e-30, 1e-38));
  }
}

TYPED_TEST(Softmin, FollowsAMaximumThatKeepsRising) {
  SoftminProblem<TypeParam> problem(2, 1000, 0, 1, 1);
  for (std::size_t j = 0; j < 1000; ++j)
    problem.cost[1 + j] = static_cast<TypeParam>(5000 - 5. * j);
  expect_definition(problem);
  std::reverse(problem.cost.begin() + 1, problem.cost.begin() + 1001);
  expect_definition(problem);
}

TYPED_TEST(Softmin, IsNeverNotANumberForFiniteCosts) {
  const auto largest = std::numeric_limits<TypeParam>::max();
  for (const TypeParam value : {largest, -largest, largest / 2, TypeParam{0}}) {
    SoftminProblem<TypeParam> problem(1, 70, 0, 1, 1);
    for (std::size_t j = 1; j <= 70; j += 2) problem.cost[j] = value;
    for (const auto& kernel : softmin_kernels<TypeParam>())
      EXPECT_FALSE(std::isnan(run(kernel, problem)[0])) << kernel.name << ' ' << value;
  }
}

TYPED_TEST(Softmin, ShowsACostThatIsNotANumber) {
  for (const std::size_t place : {0, 5, 63, 69}) {
    SoftminProblem<TypeParam> problem(1, 70, 0, 1, 1);
    problem.cost[1 + place] = std::numeric_limits<TypeParam>::quiet_NaN();
    for (const auto& kernel : softmin_kernels<TypeParam>())
      EXPECT_TRUE(std::isnan(run(kernel, problem)[0])) << kernel.name << ' ' << place;
  }
}

TEST(SoftminInDouble, OfFloatCostsIsThatOfTheSameCostsWidened) {
  for (const std::size_t columns : {1, 5, 31, 32, 33, 100, 700}) {
    const SoftminProblem<float> narrow(4, columns, 1, 1e3, 1e-3);
    const std::vector<double> wide(narrow.cost.begin(), narrow.cost.end());
    const std::vector<double> h = reference::normal_values<double>(columns, 1e5, 3);
    const std::vector<double> f = reference::normal_values<double>(4, 1e2, 4);
    const std::vector<double> weights(std::max<std::size_t>(4, columns), 0.25);
    const std::size_t leading = narrow.leading;
    for (std::size_t k = 0; k < softmin_kernels<double>().size(); ++k) {
      const auto& expected = softmin_kernels<double>()[k];
      const auto& mixed = softmin_kernels<double, float>()[k];
      std::vector<double> out(4);
      std::vector<double> mixed_out(4);
      expected.softmin({wide.data() + 1, leading, columns, h.data(), 1e-3}, {0, 4}, out.data());
      mixed.softmin({narrow.cost.data() + 1, leading, columns, h.data(), 1e-3}, {0, 4},
                    mixed_out.data());
      EXPECT_TRUE(reference::same_bits(out, mixed_out)) << mixed.name << ", " << columns;
      std::vector<double> plan(4 * columns);
      std::vector<float> mixed_plan(4 * columns);
      expected.plan({wide.data() + 1, leading, columns, f.data(), weights.data(), h.data(),
                     weights.data(), 1e3},
                    {0, 4}, plan.data(), columns);
      mixed.plan({narrow.cost.data() + 1, leading, columns, f.data(), weights.data(), h.data(),
                  weights.data(), 1e3},
                 {0, 4}, mixed_plan.data(), columns);
      EXPECT_EQ(mixed_plan, std::vector<float>(plan.begin(), plan.end())) << mixed.name;
    }
  }
}

TYPED_TEST(Softmin, DoesNotDependOnTheRangesOfRows) {
  const SoftminProblem<TypeParam> problem(7, 100, 0, 1, 0.1);
  std::vector<TypeParam> out(7, -1);
  softmin(problem.in, {0, 3}, out.data());
  EXPECT_EQ(out[3], -1);
  softmin(problem.in, {3, 7}, out.data());
  EXPECT_TRUE(reference::same_bits(out, run(softmin_kernels<TypeParam>().front(), problem)));
}

TYPED_TEST(Softmin, RefusesArgumentsThatCannotBeMeant) {
  SoftminProblem<TypeParam> problem(2, 4, 0, 1, 0);
  std::vector<TypeParam> out(8);
  EXPECT_THROW(softmin(problem.in, {0, 2}, out.data()), InvalidArgument);
  problem.in.epsilon = 1;
  EXPECT_THROW(softmin(problem.in, {2, 1}, out.data()), InvalidArgument);
  problem.in.leading = 3;
  EXPECT_THROW(softmin(problem.in, {0, 2}, out.data()), InvalidArgument);
}

// With everything else 0 or 1 a plan is the exponential of its potentials.
template <class T>
std::vector<T> exponentials(const SoftminKernel<T>& kernel, const std::vector<T>& g) {
  const std::vector<T> zeros(g.size(), 0);
  const std::vector<T> ones(g.size(), 1);
  std::vector<T> plan(g.size());
  const PlanInput<T> in{zeros.data(), g.size(), g.size(),    zeros.data(),
                        ones.data(),  g.data(), ones.data(), 1};
  kernel.plan(in, {0, 1}, plan.data(), g.size());
  return plan;
}

TYPED_TEST(Softmin, HasAnExponentialOfFullPrecision) {
  const bool is_float = sizeof(TypeParam) == 4;
  const double range = is_float ? 87 : 708;
  std::vector<TypeParam> x;
  for (int i = -100000; i <= 100000; ++i) x.push_back(static_cast<TypeParam>(range * i / 100000));
  for (const auto& kernel : softmin_kernels<TypeParam>()) {
    const std::vector<TypeParam> powers = exponentials(kernel, x);
    long double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double exact = std::exp(static_cast<long double>(x[i]));
      worst = std::max(worst, std::fabs(powers[i] / exact - 1));
    }
    EXPECT_LT(worst, is_float ? 1.2e-7 : 3e-16) << kernel.name;
    EXPECT_EQ(exponentials(kernel, {0})[0], 1);
  }
}

TYPED_TEST(Softmin, WritesThePlanOfItsPotentials) {
  using T = TypeParam;
  for (const std::size_t columns : {1, 2, 15, 16, 52, 129}) {
    const SoftminProblem<T> problem(5, columns, 1, 1, 0.2);
    const std::vector<T> f = reference::normal_values<T>(5, 0.3, 5);
    const std::vector<T> g = reference::normal_values<T>(columns, 0.3, 6);
    const std::vector<T> a = {0.5, 0.25, 0, 0.125, 0.125};
    std::vector<T> b(columns, T{1} / static_cast<T>(columns));
    b[columns / 2] = 0;
    const PlanInput<T> in{problem.in.cost, problem.leading, columns,  f.data(),
                          a.data(),        g.data(),        b.data(), 0.2};
    const std::vector<double> expected = reference::plan(in, 5);
    for (const auto& kernel : softmin_kernels<T>()) {
      std::vector<T> plan(5 * (columns + 3), -7);
      kernel.plan(in, {0, 5}, plan.data(), columns + 3);
      for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t j = 0; j < columns; ++j) {
          const double exact = expected[i * columns + j];
          EXPECT_NEAR(plan[i * (columns + 3) + j], exact, exact * problem.argument_error());
        }
        EXPECT_EQ(plan[i * (columns + 3) + columns], -7) << "beyond the row";
      }
    }
  }
}

TYPED_TEST(Softmin, PlansExactlyNothingWhereAWeightOrThePowerIsZero) {
  using T = TypeParam;
  const std::vector<T> cost = {0, 1e8, 0, 1e30, -1e8};
  const std::vector<T> f = {0};
  const std::vector<T> a = {0.5};
  const std::vector<T> g(5, 0);
  const std::vector<T> b = {1, 1, 0, 1, 0};
  const PlanInput<T> in{cost.data(), 5, 5, f.data(), a.data(), g.data(), b.data(), 1};
  std::vector<T> plan(5);
  plan_rows(in, {0, 1}, plan.data(), 5);
  EXPECT_EQ(plan, (std::vector<T>{0.5, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace obol::transport::cpu
