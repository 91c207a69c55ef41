#include <algorithm>
#include <limits>
#include <utility>

#include "obol/base/error.h"
#include "obol/cuda/testing.cuh"
#include "obol/transport/cuda/sinkhorn.h"
#include "obol/transport/cuda/tiled.cuh"
#include "obol/transport/testing.h"

namespace obol::transport::cuda {
namespace {

using obol::cuda::Device;
using obol::cuda::expect_close;
using obol::cuda::kClose;
using obol::cuda::mean;
using obol::cuda::normals;

struct Problem {
  int n;
  int m;
  std::vector<double> cost;
  std::vector<double> a;
  std::vector<double> b;
};

std::vector<double> uniform(int n) { return std::vector<double>(n, 1.0 / n); }

// Squared distances between points of a few dimensions.
Problem cloud(int n, int m, double shift = 0.5, double scale = 1) {
  constexpr int kDimension = 3;
  const std::vector<double> x = normals(static_cast<std::size_t>(n) * kDimension, 1);
  const std::vector<double> y = normals(static_cast<std::size_t>(m) * kDimension, 2);
  Problem p{n, m, std::vector<double>(static_cast<std::size_t>(n) * m), uniform(n), uniform(m)};
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) {
      double sum = 0;
      for (int k = 0; k < kDimension; ++k) {
        const double gap = x[i * kDimension + k] - y[j * kDimension + k] - shift;
        sum += gap * gap;
      }
      p.cost[static_cast<std::size_t>(i) * m + j] = static_cast<float>(scale * sum);
    }
  return p;
}

template <class T>
struct Answer {
  std::vector<T> f;
  std::vector<T> g;
  SinkhornResult result;
};

enum class Path { kChosen, kTiled };

template <class T>
std::vector<T> logs(const std::vector<double>& weights) {
  std::vector<T> result;
  for (const double weight : weights) result.push_back(static_cast<T>(std::log(weight)));
  return result;
}

template <class T>
Answer<T> solve(const Problem& p, const SinkhornOptions& options, Path path = Path::kChosen,
                const Answer<T>* start = nullptr, Mode mode = Mode::kTwoSided) {
  const Device<T> cost(p.cost);
  const Device<T> log_a(logs<T>(p.a));
  const Device<T> log_b(logs<T>(p.b));
  const Device<T> f(static_cast<std::size_t>(p.n));
  const Device<T> g(static_cast<std::size_t>(p.m));
  const Device<T> start_f(start != nullptr ? start->f : std::vector<T>(p.n, 0));
  const Device<T> start_g(start != nullptr ? start->g : std::vector<T>(p.m, 0));
  const Device<SinkhornResult> result(std::size_t{1});
  const bool is_uniform = p.a == uniform(p.n) && p.b == uniform(p.m);
  const SinkhornProblem<T> problem{cost.get(),
                                   p.n,
                                   p.m,
                                   p.m,
                                   f.get(),
                                   g.get(),
                                   result.get(),
                                   is_uniform ? nullptr : log_a.get(),
                                   is_uniform ? nullptr : log_b.get(),
                                   start != nullptr ? start_f.get() : nullptr,
                                   start != nullptr ? start_g.get() : nullptr,
                                   mode};
  const Device<char> workspace(tiled_workspace<T>(p.n, p.m));
  if (path == Path::kTiled)
    launch_tiled(problem, schedule(options), workspace.get(), nullptr);
  else
    sinkhorn(&problem, 1, options, workspace.get(), nullptr);
  return {f.host(), g.host(), result.only()};
}

reference::Solution reference_of(const Problem& p, double regularization, int iterations) {
  return reference::solve({p.cost, p.a, p.b, regularization}, iterations);
}

template <class T>
void expect_finite(const Answer<T>& answer) {
  const SinkhornResult& r = answer.result;
  EXPECT_FALSE(std::isnan(r.dual) || std::isnan(r.primal) || std::isnan(r.marginal_error));
  for (const T value : answer.f) ASSERT_TRUE(std::isfinite(value));
  for (const T value : answer.g) ASSERT_TRUE(std::isfinite(value));
}

SinkhornOptions fixed(double regularization, int iterations) {
  SinkhornOptions options{regularization};
  options.stopping = Stopping::kFixed;
  options.max_iterations = iterations;
  return options;
}

template <class T>
class SinkhornGpu : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SinkhornGpu, Types);

template <class T>
void expect_reference(const Problem& p, double regularization, Path path) {
  SCOPED_TRACE(testing::Message() << p.n << " x " << p.m << ", regularization " << regularization
                                  << (path == Path::kTiled ? ", tiled" : ""));
  constexpr int kIterations = 10;
  const reference::Solution expected = reference_of(p, regularization, kIterations);
  const Answer<T> found = solve<T>(p, fixed(regularization, kIterations), path);
  expect_finite(found);
  EXPECT_EQ(found.result.iterations, kIterations);
  const double size = std::fabs(expected.dual) + 1e-12;
  EXPECT_NEAR(found.result.dual, expected.dual, kClose<T> * size);
  EXPECT_NEAR(found.result.primal, expected.primal, 20 * kClose<T> * size);
  EXPECT_NEAR(found.result.marginal_error, expected.marginal_error, 20 * kClose<T>);
  expect_close(found.f, expected.f, kClose<T>, mean(p.cost));
  expect_close(found.g, expected.g, kClose<T>, mean(p.cost));
}

TYPED_TEST(SinkhornGpu, IteratesLikeTheReferenceForEveryShape) {
  OBOL_NEEDS_GPU();
  const int shapes[][2] = {{1, 1},   {1, 7},   {7, 1},    {2, 3},     {50, 50},   {64, 63},
                           {200, 3}, {3, 200}, {129, 65}, {150, 160}, {1000, 17}, {17, 1000}};
  for (const auto& shape : shapes)
    for (const Path path : {Path::kChosen, Path::kTiled}) {
      const Problem p = cloud(shape[0], shape[1]);
      expect_reference<TypeParam>(p, 0.3 * mean(p.cost), path);
    }
  const Problem large = cloud(700, 517);
  expect_reference<TypeParam>(large, 0.3 * mean(large.cost), Path::kChosen);
}

TYPED_TEST(SinkhornGpu, HoldsFromSharpToFlatRegularization) {
  OBOL_NEEDS_GPU();
  const Problem p = cloud(40, 31);
  for (const double ratio : {1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4})
    for (const Path path : {Path::kChosen, Path::kTiled})
      expect_reference<TypeParam>(p, ratio * mean(p.cost), path);
}

TYPED_TEST(SinkhornGpu, IsRightOrSaysThatItIsNot) {
  OBOL_NEEDS_GPU();
  using T = TypeParam;
  for (const double ratio : {1e-4, 1e-3, 1e-2, 1e-1, 1.0, 1e4})
    for (const double scale : {1.0, 1e12})
      for (const Path path : {Path::kChosen, Path::kTiled}) {
        const Problem p = cloud(30, 20, 0.5, scale);
        const double regularization = ratio * mean(p.cost);
        SinkhornOptions options{regularization};
        options.tolerance = 1e-4;
        options.annealing = 0.7;
        options.max_iterations = 3000;
        const Answer<T> found = solve<T>(p, options, path);
        expect_finite(found);
        const reference::Solution expected = reference_of(p, regularization, 3000);
        if (found.result.converged == 0 || expected.marginal_error > 1e-5) continue;
        EXPECT_LE(found.result.marginal_error, options.tolerance);
        EXPECT_NEAR(found.result.dual, expected.dual, 1e-4 * expected.dual) << ratio;
        EXPECT_NEAR(found.result.primal, expected.primal, 2e-3 * expected.dual) << ratio;
      }
}

TYPED_TEST(SinkhornGpu, ConvergesWhereItCan) {
  OBOL_NEEDS_GPU();
  const Problem p = cloud(50, 60);
  SinkhornOptions options{0.1 * mean(p.cost)};
  options.tolerance = 1e-5;
  for (const Path path : {Path::kChosen, Path::kTiled}) {
    const Answer<TypeParam> found = solve<TypeParam>(p, options, path);
    EXPECT_EQ(found.result.converged, 1) << found.result.marginal_error;
    EXPECT_LT(found.result.iterations, 2000);
    // From its own answer nothing is left to do but a look.
    const Answer<TypeParam> again = solve<TypeParam>(p, options, path, &found);
    EXPECT_EQ(again.result.converged, 1);
    EXPECT_LE(again.result.iterations, 1);
    options.over_relaxation = 1.5;
    const Answer<TypeParam> relaxed = solve<TypeParam>(p, options, path);
    EXPECT_EQ(relaxed.result.converged, 1);
    EXPECT_LT(relaxed.result.iterations, found.result.iterations);
    EXPECT_NEAR(relaxed.result.dual, found.result.dual, 1e-4 * found.result.dual);
    options.over_relaxation = 1;
  }
}

TYPED_TEST(SinkhornGpu, ZeroWeightsHavePotentialsButNoPart) {
  OBOL_NEEDS_GPU();
  for (const Path path : {Path::kChosen, Path::kTiled}) {
    Problem p = cloud(9, 14);
    p.a = {0, 0.25, 0.125, 0.125, 0, 0.25, 0.0625, 0.0625, 0.125};
    for (int j = 0; j < 14; ++j) p.b[j] = j % 2 == 0 ? 1.0 / 7 : 0;
    expect_reference<TypeParam>(p, 0.2 * mean(p.cost), path);
    expect_reference<TypeParam>(p, 100 * mean(p.cost), path);
  }
}

TYPED_TEST(SinkhornGpu, DuplicatedPointsAndNoCostsAreFine) {
  OBOL_NEEDS_GPU();
  for (const Path path : {Path::kChosen, Path::kTiled}) {
    Problem p = cloud(12, 12);
    for (int j = 0; j < 12; ++j) p.cost[12 + j] = p.cost[j];
    expect_reference<TypeParam>(p, 0.2 * mean(p.cost), path);
    std::fill(p.cost.begin(), p.cost.end(), 0);
    expect_reference<TypeParam>(p, 1, path);
  }
}

// As obol/transport/sinkhorn.cpp does it, written down for doubles.
reference::Solution annealed(const Problem& p, double target, double ratio, int* iterations) {
  reference::Solution s;
  s.f.assign(p.n, 0);
  s.g.assign(p.m, 0);
  const auto sweep = [&](double t) {
    for (int i = 0; i < p.n; ++i) {
      double sum = 0;
      for (int j = 0; j < p.m; ++j)
        sum += p.b[j] * std::exp((s.f[i] + s.g[j] - p.cost[i * p.m + j]) / t);
      s.f[i] -= t * std::log(sum);
    }
    for (int j = 0; j < p.m; ++j) {
      double sum = 0;
      for (int i = 0; i < p.n; ++i)
        sum += p.a[i] * std::exp((s.f[i] + s.g[j] - p.cost[i * p.m + j]) / t);
      s.g[j] -= t * std::log(sum);
    }
    ++*iterations;
  };
  *iterations = 0;
  for (double t = *std::max_element(p.cost.begin(), p.cost.end()); t > target; t *= ratio) sweep(t);
  sweep(target);
  for (int i = 0; i < p.n; ++i) s.dual += p.a[i] * s.f[i];
  for (int j = 0; j < p.m; ++j) s.dual += p.b[j] * s.g[j];
  return s;
}

TYPED_TEST(SinkhornGpu, AnnealsLikeTheProcessor) {
  OBOL_NEEDS_GPU();
  const Problem p = cloud(50, 45);
  for (const double ratio : {0.5, 0.8})
    for (const Path path : {Path::kChosen, Path::kTiled}) {
      SinkhornOptions options{0.01 * mean(p.cost)};
      options.stopping = Stopping::kAnnealed;
      options.annealing = ratio;
      int iterations = 0;
      const reference::Solution expected = annealed(p, options.regularization, ratio, &iterations);
      const Answer<TypeParam> found = solve<TypeParam>(p, options, path);
      EXPECT_EQ(found.result.iterations, iterations);
      EXPECT_EQ(found.result.converged, 0);
      EXPECT_NEAR(found.result.dual, expected.dual, kClose<TypeParam> * expected.dual);
      expect_close(found.f, expected.f, kClose<TypeParam>);
    }
}

TYPED_TEST(SinkhornGpu, SelfTransportAgreesWithTwoSides) {
  OBOL_NEEDS_GPU();
  Problem p = cloud(40, 40, 0);
  for (int i = 0; i < 40; ++i)
    for (int j = 0; j <= i; ++j) p.cost[i * 40 + j] = i == j ? 0 : p.cost[j * 40 + i];
  SinkhornOptions options{0.1 * mean(p.cost)};
  options.tolerance = 1e-5;
  const reference::Solution expected = reference_of(p, options.regularization, 2000);
  for (const Path path : {Path::kChosen, Path::kTiled})
    for (const double annealing : {1.0, 0.5}) {
      options.annealing = annealing;
      const Answer<TypeParam> found =
          solve<TypeParam>(p, options, path, static_cast<Answer<TypeParam>*>(nullptr), Mode::kSelf);
      EXPECT_EQ(found.result.converged, 1) << found.result.marginal_error;
      EXPECT_NEAR(found.result.dual, expected.dual, 1e-4 * std::fabs(expected.dual));
      EXPECT_EQ(found.f, found.g);
    }
}

TYPED_TEST(SinkhornGpu, SaysSoWhenTheRangeOfNumbersIsNotEnough) {
  OBOL_NEEDS_GPU();
  using T = TypeParam;
  for (const double size : {1e30, 1e-30, std::numeric_limits<double>::quiet_NaN(),
                            static_cast<double>(std::numeric_limits<T>::max())})
    for (const double regularization : {1e-30, 1e-3, 1e30})
      for (const Path path : {Path::kChosen, Path::kTiled}) {
        Problem p = cloud(6, 8);
        for (std::size_t k = 0; k < p.cost.size(); k += 3) p.cost[k] = size;
        SinkhornOptions options{regularization};
        options.max_iterations = 20;
        const SinkhornResult r = solve<T>(p, options, path).result;
        EXPECT_FALSE(std::isnan(r.dual) || std::isnan(r.primal) || std::isnan(r.marginal_error));
        EXPECT_TRUE(r.converged == 0 || std::isfinite(size));
      }
}

TEST(SinkhornGpuArguments, AreRefusedWhereTheyCannotBeMeant) {
  const SinkhornProblem<float> problem{nullptr, 0, 1, 1, nullptr, nullptr, nullptr};
  EXPECT_THROW(sinkhorn(&problem, 1, {0.1}, nullptr, nullptr), InvalidArgument);
  EXPECT_THROW(sinkhorn(&problem, 0, {0}, nullptr, nullptr), InvalidArgument);
  EXPECT_THROW(sinkhorn(&problem, 0, {0.1, Stopping::kFixed, 0, 0}, nullptr, nullptr),
               InvalidArgument);
}

}  // namespace
}  // namespace obol::transport::cuda
