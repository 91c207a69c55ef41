#include "obol/transport/tensor/streamed.h"

#include <gtest/gtest.h>

#include "obol/testing/gpu.h"
#include "obol/transport/tensor/loss.h"

namespace obol::transport {
namespace {

using torch::Tensor;

constexpr std::int64_t kRows = 50;
constexpr std::int64_t kAbsent = 12;

class StreamedGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    OBOL_NEEDS_GPU();
    torch::manual_seed(3);
    x_ = torch::rand({kRows + 20, 784});
    y_ = torch::rand({40, 784});
    labels_x_ = torch::randint(10, {kRows}, torch::kLong);
    labels_y_ = torch::randint(10, {40}, torch::kLong);
  }

  static Tensor on_gpu(const Tensor& tensor) { return tensor.to(torch::kCUDA); }

  // In double, on the processor.
  [[nodiscard]] Tensor expected(const Tensor& y, const Tensor& labels_y, const Cost& cost,
                                const SinkhornOptions& options) const {
    Problem problem{.x = x_.slice(0, 0, kRows).to(torch::kDouble).requires_grad_(),
                    .y = y.to(torch::kDouble),
                    .cost = cost,
                    .labels_x = labels_x_,
                    .labels_y = labels_y,
                    .label_weight = 15};
    return torch::autograd::grad({entropic_cost(problem, options)}, {problem.x})[0];
  }

  static void expect_near(const Tensor& gpu, const Tensor& expected) {
    const Tensor difference = gpu.cpu().to(torch::kDouble) - expected;
    EXPECT_LT(difference.norm().item<double>(), 1e-3 * expected.norm().item<double>());
  }

  Tensor x_, y_, labels_x_, labels_y_;
};

TEST_F(StreamedGpu, GradientIsThatOfTheLoss) {
  for (const char* cost : {"mixture:1", "l2sq", "l1", "lp:1.5"}) {
    const SinkhornOptions options{.regularization = 0.5, .stopping = Stopping::kAnnealed};
    const Tensor gradient = streamed::gradient({.x = on_gpu(x_.slice(0, 0, kRows)),
                                                .y = on_gpu(y_),
                                                .cost = parse_cost(cost),
                                                .labels_x = on_gpu(labels_x_),
                                                .labels_y = on_gpu(labels_y_),
                                                .label_weight = 15},
                                               options);
    SCOPED_TRACE(cost);
    expect_near(gradient, expected(y_, labels_y_, parse_cost(cost), options));
  }
}

TEST_F(StreamedGpu, PointsThatAreNotThereHaveNoPart) {
  const SinkhornOptions options{.regularization = 0.5, .stopping = Stopping::kAnnealed};
  const Cost cost = parse_cost("mixture:1");
  Tensor present = torch::ones({40 + kAbsent});
  present.slice(0, 40).zero_();
  const auto gradient = [&](const Tensor& there) {
    return streamed::gradient(
        {.x = on_gpu(x_.slice(0, 0, kRows)),
         .y = on_gpu(torch::cat({y_, torch::zeros({kAbsent, 784})})),
         .cost = cost,
         .labels_x = on_gpu(labels_x_),
         .labels_y = on_gpu(torch::cat({labels_y_, torch::zeros({kAbsent}, torch::kLong)})),
         .label_weight = 15,
         .present = on_gpu(there)},
        options);
  };
  expect_near(gradient(present), expected(y_, labels_y_, cost, options));
  EXPECT_EQ(gradient(torch::zeros_like(present)).abs().max().item<double>(), 0);
}

TEST_F(StreamedGpu, SelfGradientIsThatOfTheSelfTerm) {
  for (const std::int64_t resampled : {20, 0}) {
    // Large enough that the plan of a measure with itself is more than the identity.
    const SinkhornOptions options{.regularization = 100, .stopping = Stopping::kAnnealed};
    const Tensor rows = x_.slice(0, 0, kRows + resampled);
    const Tensor labels = torch::cat({labels_x_, labels_x_.slice(0, 0, resampled)});
    const Tensor x = rows.to(torch::kDouble).requires_grad_();
    Problem problem{.x = x.slice(0, 0, kRows),
                    .y = x.slice(0, resampled, kRows + resampled),
                    .cost = parse_cost("mixture:1"),
                    .labels_x = labels.slice(0, 0, kRows),
                    .labels_y = labels.slice(0, resampled),
                    .label_weight = 15};
    const Tensor loss =
        resampled > 0 ? entropic_cost(problem, options) : entropic_self_cost(problem, options);
    SCOPED_TRACE(resampled);
    expect_near(streamed::self_gradient({.x = on_gpu(rows),
                                         .resampled = resampled,
                                         .cost = problem.cost,
                                         .labels = on_gpu(labels),
                                         .label_weight = 15},
                                        options),
                torch::autograd::grad({loss}, {x})[0]);
  }
}

TEST_F(StreamedGpu, PotentialsAreThoseOfEachClass) {
  const Tensor x = x_.slice(0, 0, 40);
  const Tensor labels = torch::arange(4).repeat_interleave(10);
  const Solution solution = sinkhorn({.x = x.to(torch::kDouble),
                                      .y = y_.to(torch::kDouble),
                                      .labels_x = labels,
                                      .labels_y = labels,
                                      .label_weight = kSeparateClasses},
                                     {.regularization = 3, .tolerance = 0, .max_iterations = 30});
  const Tensor f = streamed::potentials(on_gpu(x), on_gpu(y_), 4, 3, 30).cpu().to(torch::kDouble);
  EXPECT_LT((f - solution.f).abs().max().item<double>(), 1e-2);
}

}  // namespace
}  // namespace obol::transport
