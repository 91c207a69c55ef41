#include "obol/model/norm_activation.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "obol/testing/gpu.h"

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

// But for one number in many thousands: where rounding moves one past zero, the rectifier's
// gradient jumps.
void expect_nearly_all_near(const Tensor& expected, const Tensor& found, double tolerance) {
  ASSERT_EQ(expected.sizes(), found.sizes());
  const double scale = 1 + expected.abs().max().item<double>();
  const Tensor errors = (expected - found.cpu().to(at::kDouble)).abs();
  EXPECT_LE((errors > tolerance * scale).sum().item<std::int64_t>(), expected.numel() / 50'000)
      << errors.max() << " of " << scale;
}

// `images`, on a GPU, against torch in double on a processor. Results are rounded to their type,
// sums are not; among many numbers there may be such a jump, which moves its channel a little.
void expect_like_double(const Tensor& images, double slope) {
  const bool are_many = images.numel() > 100'000;
  const double rounding = images.scalar_type() == at::kFloat ? 1e-5 : 5e-3;
  const double of_sums = are_many ? 1e-2 : 1e-5;
  Pair pair({.channels = images.size(1), .slope = slope}, at::kFloat);
  pair.stock.norm->to(at::kDouble);
  pair.ours->to(images.device());
  const Tensor x = images.cpu().to(at::kDouble).requires_grad_();
  const Tensor x2 = images.detach().requires_grad_();
  const Tensor expected = pair.stock.forward(x);
  const Tensor found = pair.ours->forward(x2);
  ASSERT_EQ(found.scalar_type(), images.scalar_type());
  EXPECT_TRUE(found.is_contiguous(at::MemoryFormat::ChannelsLast));
  expect_nearly_all_near(expected.detach(), found.detach(), rounding);
  const Tensor gradient = torch::randn_like(found);
  expected.backward(gradient.cpu().to(at::kDouble));
  found.backward(gradient);
  expect_nearly_all_near(x.grad(), x2.grad(), are_many ? std::max(rounding, 1e-3) : rounding);
  const auto near = [](const Tensor& a, const Tensor& b, double tolerance) {
    expect_near(a.detach(), b.detach().cpu().to(at::kDouble), tolerance);
  };
  near(pair.stock.norm->weight.grad(), pair.ours->weight.grad(), of_sums);
  near(pair.stock.norm->bias.grad(), pair.ours->bias.grad(), of_sums);
  near(pair.stock.norm->running_mean, pair.ours->running_mean, 1e-5);
  near(pair.stock.norm->running_var, pair.ours->running_var, 1e-5);
  pair.stock.norm->eval();
  pair.ours->eval();
  expect_nearly_all_near(pair.stock.forward(x).detach(), pair.ours->forward(images), rounding);
  const torch::NoGradGuard no_grad;
  expect_nearly_all_near(pair.stock.forward(x), pair.ours->forward(images), rounding);
}

// Channels that fill 16 bytes and tiles, or do not; one block of rows, and many.
const std::vector<std::vector<std::int64_t>> kOnGpu{
    {4, 3, 5, 7},     {1, 1, 2, 1},    {5, 72, 9, 11},   {130, 12, 5, 5}, {9, 17, 14, 14},
    {600, 130, 3, 3}, {70, 256, 7, 7}, {40, 64, 28, 28}, {3, 520, 4, 4}};

TEST(NormActivationGpu, HasTheValuesAndGradientsOfDoubles) {
  OBOL_NEEDS_GPU();
  torch::manual_seed(1);
  for (const auto type : {at::kFloat, at::kBFloat16})
    for (const double slope : {0.0, 0.2})
      for (const auto& shape : kOnGpu) {
        SCOPED_TRACE(testing::Message() << at::IntArrayRef(shape) << " " << type);
        expect_like_double((1 + 2 * torch::randn(shape)).to(torch::kCUDA, type), slope);
      }
}

TEST(NormActivationGpu, TakesRowsThatBeginAnywhere) {
  OBOL_NEEDS_GPU();
  torch::manual_seed(1);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const Tensor some = torch::randn({1 + 9 * 5 * 6 * 16}).to(torch::kCUDA, type);
    expect_like_double(some.slice(0, 1).view({9, 5, 6, 16}).permute({0, 3, 1, 2}), 0.2);
  }
}

TEST(NormActivationGpu, FindsASmallVarianceAroundALargeMean) {
  OBOL_NEEDS_GPU();
  torch::manual_seed(1);
  expect_like_double((1000 + 0.01 * torch::randn({50, 8, 14, 14})).to(torch::kCUDA), 0.2);
}

TEST(NormActivationGpu, GivesTheSameBitsAgain) {
  OBOL_NEEDS_GPU();
  torch::manual_seed(1);
  NormActivation norm(NormActivationOptions{.channels = 64, .slope = 0.2});
  norm->to(torch::kCUDA);
  const Tensor x = torch::randn({70, 64, 28, 28}).to(torch::kCUDA, at::kBFloat16).requires_grad_();
  const auto results = [&] {
    const Tensor y = norm->forward(x);
    return torch::autograd::grad({y}, {x, norm->weight, norm->bias}, {torch::ones_like(y)});
  };
  const auto once = results();
  const auto again = results();
  for (std::size_t k = 0; k < once.size(); ++k) EXPECT_TRUE(at::equal(once[k], again[k])) << k;
}

}  // namespace
}  // namespace obol::model
