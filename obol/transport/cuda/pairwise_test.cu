#include <algorithm>

#include "obol/base/error.h"
#include "obol/cuda/testing.cuh"
#include "obol/transport/cuda/pairwise.h"

namespace obol::transport::cuda {
namespace {

using obol::cuda::Device;
using obol::cuda::expect_close;
using obol::cuda::kClose;
using obol::cuda::mean;
using obol::cuda::normals;

double sign(double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; }

double term(const Ground& ground, double x) {
  if (ground.kind == GroundCost::kAbsolute) return std::fabs(x);
  return x * x + (ground.kind == GroundCost::kMixture ? ground.mixing * std::fabs(x) : 0);
}

double slope(const Ground& ground, double x) {
  if (ground.kind == GroundCost::kAbsolute) return sign(x);
  return 2 * x + (ground.kind == GroundCost::kMixture ? ground.mixing * sign(x) : 0);
}

struct Shape {
  int n;
  int m;
  int d;
};

std::vector<double> expected_cost(const Shape& s, const Ground& ground,
                                  const std::vector<double>& x, const std::vector<double>& y,
                                  int leading) {
  std::vector<double> cost(static_cast<std::size_t>(s.n) * s.m);
  for (int i = 0; i < s.n; ++i)
    for (int j = 0; j < s.m; ++j)
      for (int k = 0; k < s.d; ++k)
        cost[i * s.m + j] += term(ground, x[i * leading + k] - y[j * leading + k]);
  return cost;
}

template <class T>
class PairwiseGpu : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(PairwiseGpu, Types);

const Ground kGrounds[] = {
    {GroundCost::kAbsolute}, {GroundCost::kSquared}, {GroundCost::kMixture, 0.7}};

TYPED_TEST(PairwiseGpu, CostsAreThoseOfTheDefinition) {
  OBOL_NEEDS_GPU();
  using T = TypeParam;
  for (const Shape& s : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{50, 50, 784}, Shape{5, 130, 33},
                         Shape{1100, 1060, 40}, Shape{1025, 1024, 3}})
    for (const Ground& ground : kGrounds)
      for (const double offset : {0.0, 1e6}) {
        SCOPED_TRACE(testing::Message() << s.n << " x " << s.m << " x " << s.d << ", " << offset);
        const int leading = s.d + 1;
        std::vector<double> x = normals(static_cast<std::size_t>(s.n) * leading, 1);
        std::vector<double> y = normals(static_cast<std::size_t>(s.m) * leading, 2);
        for (double& value : x) value = static_cast<float>(value + offset);
        for (double& value : y) value = static_cast<float>(value + offset);
        std::copy_n(x.begin(), std::min(s.d, 2), y.begin());
        const Device<T> on_x(x);
        const Device<T> on_y(y);
        const Device<T> cost(static_cast<std::size_t>(s.n) * s.m);
        const CostProblem<T> problem{
            {on_x.get(), s.n, leading}, {on_y.get(), s.m, leading}, cost.get(), s.m};
        pairwise_cost(&problem, 1, s.d, ground, nullptr);
        expect_close(cost.host(), expected_cost(s, ground, x, y, leading),
                     sizeof(T) == 4 ? 2e-6 : 1e-14);
      }
}

TYPED_TEST(PairwiseGpu, SeveralProblemsOfDifferentSizesGoTogether) {
  OBOL_NEEDS_GPU();
  using T = TypeParam;
  const Ground ground{GroundCost::kMixture, 1};
  const std::vector<double> x = normals(40 * 9, 1);
  const Device<T> on_x(x);
  std::vector<CostProblem<T>> problems;
  std::vector<Device<T>*> costs;
  for (int k = 0; k < 11; ++k) {
    costs.push_back(new Device<T>(static_cast<std::size_t>(k + 1) * 20));
    problems.push_back({{on_x.get(), k + 1, 9}, {on_x.get() + 20 * 9, 20, 9}, costs[k]->get(), 20});
  }
  pairwise_cost(problems.data(), 11, 9, ground, nullptr);
  const std::vector<double> y(x.begin() + 20 * 9, x.end());
  for (int k = 0; k < 11; ++k) {
    expect_close(costs[k]->host(), expected_cost({k + 1, 20, 9}, ground, x, y, 9), kClose<T>);
    delete costs[k];
  }
}

TYPED_TEST(PairwiseGpu, DifferentLabelsCostAPenalty) {
  OBOL_NEEDS_GPU();
  using T = TypeParam;
  const Device<T> points(std::vector<double>(6, 0.5));
  const Device<std::int64_t> rows(std::vector<int>{1, 2, 0, 1});
  const Device<std::int64_t> columns(std::vector<int>{1, 2, 1});
  const Device<T> cost(std::size_t{12});
  const CostProblem<T> problem{
      {points.get(), 4, 1, rows.get()}, {points.get(), 3, 1, columns.get()}, cost.get(), 3};
  pairwise_cost(&problem, 1, 1, {GroundCost::kSquared, 0, 7}, nullptr);
  EXPECT_EQ(cost.host(), (std::vector<T>{0, 7, 0, 7, 0, 7, 7, 7, 7, 0, 7, 0}));
}

// One term from x to y and one, with exchanged roles, on some rows of x only.
template <class T>
void expect_gradient(const Shape& s, const Ground& ground) {
  const std::vector<double> x = normals(static_cast<std::size_t>(s.n) * s.d, 1);
  std::vector<double> y = normals(static_cast<std::size_t>(s.m) * s.d, 2);
  std::copy_n(x.begin(), 1, y.begin());
  const std::vector<double> cost = expected_cost(s, ground, x, y, s.d);
  const std::vector<double> f = normals(s.n, 3);
  const std::vector<double> g = normals(s.m, 4);
  std::vector<double> log_b(s.m, -std::log(s.m));
  if (s.m > 1) log_b[1] = -INFINITY;
  const double epsilon = 2 * mean(cost) + 1;
  const int rows = (s.n + 1) / 2;  // of the second term: the last ones
  const int first = s.n - rows;
  std::vector<double> expected(x.size());
  for (int i = 0; i < s.n; ++i)
    for (int j = 0; j < s.m; ++j) {
      const double b = std::exp(log_b[j]);
      const double whole = b / s.n * std::exp((f[i] + g[j] - cost[i * s.m + j]) / epsilon);
      const int r = i - first;
      // The second term's costs lie transposed, and belong to rows 0..rows-1 of the first.
      const double half =
          r < 0 ? 0 : b / rows * std::exp((f[r] + g[j] - cost[r * s.m + j]) / epsilon);
      for (int k = 0; k < s.d; ++k)
        expected[i * s.d + k] +=
            (2 * whole - 0.5 * half) * slope(ground, x[i * s.d + k] - y[j * s.d + k]);
    }
  std::vector<double> transposed(cost.size());
  for (int i = 0; i < s.n; ++i)
    for (int j = 0; j < s.m; ++j) transposed[j * s.n + i] = cost[i * s.m + j];
  const Device<T> on_x(x);
  const Device<T> on_y(y);
  const Device<T> on_cost(cost);
  const Device<T> on_transposed(transposed);
  const Device<T> on_f(f);
  const Device<T> on_g(g);
  const Device<T> on_log_b(log_b);
  const Device<T> gradient(std::vector<double>(x.size(), 3));
  const Points<T> points{on_y.get(), s.m, s.d};
  const GradientTerm<T> terms[] = {{0, s.n, points, on_cost.get(), s.m, 1, on_f.get(), on_g.get(),
                                    nullptr, on_log_b.get(), epsilon, 2},
                                   {first, rows, points, on_transposed.get(), 1, s.n, on_f.get(),
                                    on_g.get(), nullptr, on_log_b.get(), epsilon, -0.5}};
  pairwise_gradient<T>({on_x.get(), s.n, s.d}, s.d, ground, terms, 2, gradient.get(), s.d, nullptr);
  expect_close(gradient.host(), expected, sizeof(T) == 4 ? 1e-5 : 1e-13, 1e-3);
}

TYPED_TEST(PairwiseGpu, GradientsAreSumsOfTheirTerms) {
  OBOL_NEEDS_GPU();
  for (const Shape& s : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{51, 70, 130}, Shape{1031, 65, 5}})
    for (const Ground& ground : kGrounds) {
      SCOPED_TRACE(testing::Message() << s.n << " x " << s.m << " x " << s.d);
      expect_gradient<TypeParam>(s, ground);
    }
}

TEST(PairwiseGpuArguments, RefusesNegativeMixing) {
  EXPECT_THROW(pairwise_cost<float>(nullptr, 0, 1, {GroundCost::kMixture, -1}, nullptr),
               InvalidArgument);
}

}  // namespace
}  // namespace obol::transport::cuda
