#include "obol/model/norm_activation.h"

#include <vector>

#include <gtest/gtest.h>

namespace obol::model {
namespace {

using torch::Tensor;

struct Stock {
  explicit Stock(const NormActivationOptions& given)
      : options(given),
        norm(torch::nn::BatchNorm2dOptions(options.channels)
                 .eps(options.epsilon)
                 .momentum(options.momentum)) {}
  Tensor forward(const Tensor& x) { return at::leaky_relu(norm->forward(x), options.slope); }

  NormActivationOptions options;
  torch::nn::BatchNorm2d norm;
};

// Both with the same weights, neither 1 nor 0.
struct Pair {
  Pair(const NormActivationOptions& options, at::ScalarType type) : ours(options), stock(options) {
    const torch::NoGradGuard no_grad;
    torch::manual_seed(0);
    stock.norm->weight.normal_();
    stock.norm->bias.normal_();
    ours->weight.copy_(stock.norm->weight);
    ours->bias.copy_(stock.norm->bias);
    ours->to(type);
    stock.norm->to(type);
  }
  NormActivation ours;
  Stock stock;
};

void expect_near(const Tensor& expected, const Tensor& found, double tolerance) {
  ASSERT_EQ(expected.sizes(), found.sizes());
  const double scale = 1 + expected.abs().max().item<double>();
  EXPECT_LE((expected - found).abs().max().item<double>(), tolerance * scale);
}

void expect_like_torch(const Tensor& images, double slope, double tolerance) {
  Pair pair({.channels = images.size(1), .slope = slope}, images.scalar_type());
  const Tensor x = images.clone().requires_grad_();
  const Tensor x2 = images.clone().requires_grad_();
  const Tensor expected = pair.stock.forward(x);
  const Tensor found = pair.ours->forward(x2);
  expect_near(expected, found, tolerance);
  const Tensor gradient = torch::randn_like(expected);
  expected.backward(gradient);
  found.backward(gradient);
  expect_near(x.grad(), x2.grad(), tolerance);
  expect_near(pair.stock.norm->weight.grad(), pair.ours->weight.grad(), tolerance);
  expect_near(pair.stock.norm->bias.grad(), pair.ours->bias.grad(), tolerance);
  expect_near(pair.stock.norm->running_mean, pair.ours->running_mean, tolerance);
  expect_near(pair.stock.norm->running_var, pair.ours->running_var, tolerance);
  pair.stock.norm->eval();
  pair.ours->eval();
  expect_near(pair.stock.forward(images), pair.ours->forward(images), tolerance);
  const torch::NoGradGuard no_grad;
  expect_near(pair.stock.forward(images), pair.ours->forward(images), tolerance);
}

TEST(NormActivation, HasTheValuesAndGradientsOfTorch) {
  torch::manual_seed(1);
  for (const double slope : {0.0, 0.2})
    for (const auto& shape : std::vector<std::vector<std::int64_t>>{
             {4, 3, 5, 7}, {1, 1, 2, 1}, {70, 64, 7, 7}, {9, 17, 14, 14}}) {
      expect_like_torch(torch::randn(shape, at::kDouble), slope, 1e-10);
      expect_like_torch(torch::randn(shape, at::kFloat), slope, 1e-4);
    }
}

TEST(NormActivation, FindsASmallVarianceAroundALargeMean) {
  NormActivation norm(NormActivationOptions{.channels = 2, .momentum = 1});
  norm->forward(1000 + 0.01 * torch::randn({50, 2, 14, 14}));
  EXPECT_NEAR(norm->running_mean[0].item<double>(), 1000, 0.01);
  EXPECT_NEAR(norm->running_var[0].item<double>(), 1e-4, 5e-6);
}

}  // namespace
}  // namespace obol::model
