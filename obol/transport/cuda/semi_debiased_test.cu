#include <limits>

#include "obol/base/error.h"
#include "obol/transport/cuda/semi_debiased.h"
#include "obol/transport/cuda/testing.cuh"

namespace obol::transport::cuda {
namespace {

constexpr double kPenalty = 1.5;
const Ground kGround{GroundCost::kMixture, 0.3, kPenalty};

struct Sample {
  int n;
  int resampled;
  int m;
  int d;
  std::vector<double> x;
  std::vector<double> y;
  std::vector<int> labels_x;
  std::vector<int> labels_y;
};

Sample sample(int n, int resampled, int m, int d) {
  Sample s{n,
           resampled,
           m,
           d,
           normals(static_cast<std::size_t>(n + resampled) * d, 1),
           normals(static_cast<std::size_t>(m) * d, 2)};
  for (int i = 0; i < n; ++i) s.labels_x.push_back(i % 3);
  for (int j = 0; j < m; ++j) s.labels_y.push_back(j % 2);
  return s;
}

// Everything on the device for one sample.
template <class T>
class Loss {
 public:
  explicit Loss(const Sample& s)
      : x_(s.x),
        y_(s.y),
        labels_x_(s.labels_x),
        labels_y_(s.labels_y),
        value_(std::size_t{1}),
        gradient_(s.x.size()),
        results_(std::size_t{2}),
        problem_{{x_.get(), s.n + s.resampled, s.d, {labels_x_.get()}},
                 {y_.get(), s.m, s.d, {labels_y_.get()}},
                 s.d,
                 s.resampled},
        workspace_(semi_debiased_workspace(problem_)) {}

  void launch(const SinkhornOptions& options, cudaStream_t stream = nullptr) {
    semi_debiased_loss(problem_, kGround, options,
                       {value_.get(), gradient_.get(), problem_.dimension, results_.get()},
                       workspace_.get(), stream);
  }
  double value() const { return value_.only(); }
  std::vector<T> gradient() const { return gradient_.host(); }
  std::vector<SinkhornResult> results() const { return results_.host(); }

 private:
  Device<T> x_;
  Device<T> y_;
  Device<std::int64_t> labels_x_;
  Device<std::int64_t> labels_y_;
  Device<double> value_;
  Device<T> gradient_;
  Device<SinkhornResult> results_;
  SemiDebiasedProblem<T> problem_;
  Device<char> workspace_;
};

double cost(const Sample& s, int i, const double* other, int label) {
  double sum = s.labels_x[i] == label ? 0 : kPenalty;
  for (int k = 0; k < s.d; ++k) {
    const double gap = std::fabs(s.x[i * s.d + k] - other[k]);
    sum += gap * gap + kGround.mixing * gap;
  }
  return sum;
}

double transport(const std::vector<double>& costs, int n, int m, double regularization) {
  return reference::solve({costs, std::vector<double>(n, 1.0 / n), std::vector<double>(m, 1.0 / m),
                           regularization},
                          1500)
      .dual;
}

double expected_value(const Sample& s, double regularization) {
  std::vector<double> to_y;
  std::vector<double> to_x;
  for (int i = 0; i < s.n; ++i)
    for (int j = 0; j < s.m; ++j) to_y.push_back(cost(s, i, &s.y[j * s.d], s.labels_y[j]));
  for (int i = 0; i < s.n; ++i)
    for (int j = s.resampled; j < s.n + s.resampled; ++j)
      to_x.push_back(cost(s, i, &s.x[j * s.d], s.labels_x[j % s.n]));
  return 2 * transport(to_y, s.n, s.m, regularization) - transport(to_x, s.n, s.n, regularization);
}

SinkhornOptions converged(double tolerance) {
  SinkhornOptions options{2};
  options.tolerance = tolerance;
  options.max_iterations = 5000;
  return options;
}

template <class T>
class SemiDebiasedGpu : public testing::Test {};
using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(SemiDebiasedGpu, Types);

TYPED_TEST(SemiDebiasedGpu, ValueIsThatOfBothTransports) {
  OBOL_NEEDS_GPU();
  using T = TypeParam;
  for (const int resampled : {0, 2, 12}) {
    const Sample s = sample(12, resampled, 9, 5);
    Loss<T> loss(s);
    loss.launch(converged(sizeof(T) == 4 ? 1e-5 : 1e-8));
    for (const SinkhornResult& result : loss.results()) EXPECT_EQ(result.converged, 1);
    const double expected = expected_value(s, 2);
    EXPECT_NEAR(loss.value(), expected, kClose<T> * (std::fabs(expected) + 5));
  }
}

TYPED_TEST(SemiDebiasedGpu, GradientIsThatOfTheValue) {
  OBOL_NEEDS_GPU();
  using T = TypeParam;
  for (const int resampled : {0, 5, 12}) {
    const Sample s = sample(12, resampled, 9, 5);
    Loss<T> loss(s);
    loss.launch(converged(sizeof(T) == 4 ? 1e-5 : 1e-11));
    const std::vector<T> gradient = loss.gradient();
    // Of the double value, by differences; it is known to 1e-10.
    std::vector<double> expected(gradient.size());
    constexpr double kStep = 1e-5;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      double values[2];
      for (const int side : {0, 1}) {
        Sample moved = s;
        moved.x[k] += side == 0 ? -kStep : kStep;
        Loss<double> there(moved);
        there.launch(converged(1e-11));
        values[side] = there.value();
      }
      expected[k] = (values[1] - values[0]) / (2 * kStep);
    }
    expect_close(gradient, expected, sizeof(T) == 4 ? 1e-4 : 1e-6);
  }
}

TYPED_TEST(SemiDebiasedGpu, LargeProblemsGoTheOtherWayToTheSameGradient) {
  OBOL_NEEDS_GPU();
  // 260 rows do not fit in one multiprocessor, and are every row of 20 thirteen times: the same
  // measures, so that gradients of a point are shared among its copies.
  const Sample small = sample(20, 0, 20, 6);
  Sample large = small;
  large.n = large.m = 260;
  for (int copy = 1; copy < 13; ++copy) {
    large.x.insert(large.x.end(), small.x.begin(), small.x.end());
    large.y.insert(large.y.end(), small.y.begin(), small.y.end());
    large.labels_x.insert(large.labels_x.end(), small.labels_x.begin(), small.labels_x.end());
    large.labels_y.insert(large.labels_y.end(), small.labels_y.begin(), small.labels_y.end());
  }
  Loss<TypeParam> one(small);
  Loss<TypeParam> other(large);
  one.launch(converged(1e-5));
  other.launch(converged(1e-5));
  EXPECT_NEAR(one.value(), other.value(), 1e-4 * std::fabs(one.value()));
  std::vector<TypeParam> first = other.gradient();
  first.resize(small.x.size());
  for (TypeParam& value : first) value *= 13;
  expect_close(first, one.gradient(), 1e-3);
}

TYPED_TEST(SemiDebiasedGpu, ReplaysFromAGraph) {
  OBOL_NEEDS_GPU();
  for (const int n : {50, 300}) {
    const Sample s = sample(n, n / 2, n, 33);
    Loss<TypeParam> plain(s);
    Loss<TypeParam> captured(s);
    const SinkhornOptions options = converged(1e-4);
    plain.launch(options);
    cudaStream_t stream = nullptr;
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamCreate(&stream), "a stream");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "a capture");
    captured.launch(options, stream);
    check(cudaStreamEndCapture(stream, &graph), "a capture");
    check(cudaGraphInstantiate(&exec, graph, 0), "a graph");
    for (int replay = 0; replay < 3; ++replay) check(cudaGraphLaunch(exec, stream), "a replay");
    check(cudaStreamSynchronize(stream), "a replay");
    EXPECT_EQ(captured.value(), plain.value());
    EXPECT_EQ(captured.gradient(), plain.gradient());
    cudaGraphExecDestroy(exec);
    cudaGraphDestroy(graph);
    cudaStreamDestroy(stream);
  }
}

TYPED_TEST(SemiDebiasedGpu, IsInfiniteAndNotNanWhereAPointIsNotANumber) {
  OBOL_NEEDS_GPU();
  Sample s = sample(8, 3, 8, 4);
  s.x[0] = std::numeric_limits<double>::quiet_NaN();
  Loss<TypeParam> loss(s);
  SinkhornOptions options = converged(1e-5);
  options.max_iterations = 20;
  loss.launch(options);
  EXPECT_EQ(loss.value(), std::numeric_limits<double>::infinity());
  for (const SinkhornResult& result : loss.results()) EXPECT_EQ(result.converged, 0);
}

TEST(SemiDebiasedGpuArguments, AreRefusedWhereTheyCannotBeMeant) {
  SemiDebiasedProblem<float> problem{{nullptr, 5, 1}, {nullptr, 3, 1}, 1, 3};
  EXPECT_THROW(semi_debiased_workspace(problem), InvalidArgument);
}

}  // namespace
}  // namespace obol::transport::cuda
