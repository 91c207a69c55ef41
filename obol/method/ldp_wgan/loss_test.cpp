#include "obol/method/ldp_wgan/loss.h"

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::method::ldp_wgan {
namespace {

using local::Mechanism;
using torch::Tensor;

const torch::TensorOptions kDouble = torch::kDouble;

Loss converged(Loss loss) {
  loss.iterations = 20000;
  loss.tolerance = 1e-12;
  return loss;
}

class Losses : public testing::TestWithParam<std::tuple<Mechanism, LossKind>> {};

TEST_P(Losses, HaveTheGradientOfFiniteDifferences) {
  torch::manual_seed(3);
  const auto [mechanism, kind] = GetParam();
  Loss loss = converged(matched(mechanism, 0.8));
  loss.kind = kind;
  const Tensor x = torch::randn({5, 3}, kDouble);
  const Tensor y = torch::randn({7, 3}, kDouble);
  const Tensor gradient = pull_to({.x = x, .y = y}, loss).gradient;
  constexpr double kStep = 1e-5;
  for (std::int64_t i = 0; i < 5; ++i)
    for (std::int64_t k = 0; k < 3; ++k) {
      const auto value = [&](double change) {
        Tensor moved = x.clone();
        moved[i][k] += change;
        return pull_to({.x = moved, .y = y}, loss).value;
      };
      EXPECT_NEAR(gradient[i][k].item<double>(), (value(kStep) - value(-kStep)) / (2 * kStep),
                  1e-6);
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, Losses,
    testing::Combine(testing::Values(Mechanism::kGaussian, Mechanism::kLaplace),
                     testing::Values(LossKind::kEntropic, LossKind::kWasserstein,
                                     LossKind::kDivergence)));

TEST(Matched, IsTheDensityOfTheNoise) {
  EXPECT_DOUBLE_EQ(matched(Mechanism::kGaussian, 3).regularization, 18);
  EXPECT_EQ(matched(Mechanism::kGaussian, 3).cost.kind, transport::CostKind::kSquared);
  EXPECT_DOUBLE_EQ(matched(Mechanism::kLaplace, 3).regularization, 3);
  EXPECT_EQ(matched(Mechanism::kLaplace, 3).cost.kind, transport::CostKind::kAbsolute);
}

// A reference with nothing of the library in it: plain iterations on the logarithms.
Tensor plan_by_definition(const Tensor& cost, double lambda) {
  const auto n = static_cast<double>(cost.size(0));
  const auto m = static_cast<double>(cost.size(1));
  Tensor f = torch::zeros({cost.size(0), 1}, kDouble);
  Tensor g = torch::zeros({1, cost.size(1)}, kDouble);
  for (int k = 0; k < 3000; ++k) {
    f = -lambda * (torch::logsumexp((g - cost) / lambda, 1, true) - std::log(m));
    g = -lambda * (torch::logsumexp((f - cost) / lambda, 0, true) - std::log(n));
  }
  return ((f + g - cost) / lambda).exp() / (n * m);
}

TEST(Labels, ThatDifferAreAsUnlikelyAsRandomisedResponseMakesThem) {
  torch::manual_seed(4);
  constexpr double kEpsilon = 1.3;
  const Tensor x = torch::randn({6, 2}, kDouble);
  const Tensor y = torch::randn({9, 2}, kDouble);
  const Tensor of_x = torch::randint(3, {6});
  const Tensor of_y = torch::randint(3, {9});
  const Tensor differ = of_x.unsqueeze(1).ne(of_y.unsqueeze(0)).to(torch::kDouble);
  for (const Mechanism mechanism : {Mechanism::kGaussian, Mechanism::kLaplace}) {
    Loss loss = converged(matched(mechanism, 0.9));
    const Tensor apart = x.unsqueeze(1) - y.unsqueeze(0);
    const bool is_squared = mechanism == Mechanism::kGaussian;
    const Tensor cost = (is_squared ? apart.square() : apart.abs()).sum(2);
    const auto expected = [&](double epsilon) {
      const Tensor plan =
          plan_by_definition(cost + loss.regularization * epsilon * differ, loss.regularization);
      return (plan.unsqueeze(2) * (is_squared ? 2 * apart : apart.sign())).sum(1);
    };
    loss.label_epsilon = kEpsilon;
    const Pull pull = pull_to({.x = x, .y = y, .labels_x = of_x, .labels_y = of_y}, loss);
    EXPECT_LT((pull.gradient - expected(kEpsilon)).abs().max().item<double>(), 1e-8);
    EXPECT_GT((pull.gradient - expected(0)).abs().max().item<double>(), 1e-3);
  }
}

TEST(WarmStart, EndsAtOnceWhereItHadEnded) {
  torch::manual_seed(5);
  Loss loss = matched(Mechanism::kGaussian, 0.5);
  loss.tolerance = 1e-6;
  const Clouds clouds{.x = torch::randn({40, 3}, kDouble), .y = torch::randn({50, 3}, kDouble)};
  const Pull cold = pull_to(clouds, loss);
  Clouds again = clouds;
  again.start = cold.potentials;
  const Pull warm = pull_to(again, loss);
  EXPECT_GT(cold.iterations, 5);
  EXPECT_LE(warm.iterations, 2);
  EXPECT_LT((warm.gradient - cold.gradient).abs().max().item<double>(), 1e-6);
}

TEST(Losses, HaveNames) {
  EXPECT_EQ(loss_from("entropic"), LossKind::kEntropic);
  EXPECT_EQ(loss_from("wasserstein"), LossKind::kWasserstein);
  EXPECT_EQ(loss_from("divergence"), LossKind::kDivergence);
  EXPECT_THROW(loss_from("sinkhorn"), InvalidArgument);
}

}  // namespace
}  // namespace obol::method::ldp_wgan
