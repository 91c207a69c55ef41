#include "obol/transport/tensor/cost.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::transport {
namespace {

using torch::Tensor;

const std::vector<std::string> kCosts = {"l2sq", "l1", "mixture:0.7", "lp:1", "lp:1.5", "lp:3"};

// By the definition, with all differences at hand.
Tensor naive_cost(const Tensor& x, const Tensor& y, const Cost& cost) {
  const Tensor size = (x.unsqueeze(1) - y.unsqueeze(0)).to(torch::kDouble).abs();
  switch (cost.kind) {
    case CostKind::kSquared:
      return size.square().sum(2);
    case CostKind::kAbsolute:
      return size.sum(2);
    case CostKind::kMixture:
      return size.square().sum(2) + cost.mixing * size.sum(2);
    case CostKind::kPower:
      return size.pow(cost.power).sum(2);
  }
  return {};
}

double relative(const Tensor& value, const Tensor& expected) {
  const Tensor difference = (value.to(torch::kDouble) - expected).abs();
  return (difference / expected.abs().clamp_min(1e-30)).max().item<double>();
}

TEST(CostMatrix, IsWhatTheDefinitionSays) {
  torch::manual_seed(1);
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    for (const std::string& name : kCosts) {
      for (const std::int64_t d : {1, 3, 784}) {
        const Tensor x = torch::randn({9, d}, type);
        const Tensor y = torch::randn({14, d}, type);
        const Cost cost = parse_cost(name);
        EXPECT_LT(relative(cost_matrix(x, y, cost), naive_cost(x, y, cost)),
                  type == torch::kFloat ? 5e-5 : 1e-11)
            << name << ", " << d;
      }
    }
  }
}

TEST(CostMatrix, KeepsItsAccuracyFarFromTheOriginAndInTightClusters) {
  torch::manual_seed(2);
  // Two clusters of width 1, a million apart: products of such coordinates are off by thousands.
  const Tensor centres = torch::tensor({0.0, 1e6}).repeat_interleave(6).unsqueeze(1);
  const Tensor x = (torch::randn({12, 20}) + centres - 3e6).to(torch::kFloat);
  const Tensor y = (torch::randn({12, 20}) + centres - 3e6).to(torch::kFloat);
  for (const std::string name : {"l2sq", "mixture:2"}) {
    const Cost cost = parse_cost(name);
    EXPECT_LT(relative(cost_matrix(x, y, cost), naive_cost(x, y, cost)), 5e-5) << name;
  }
}

TEST(CostMatrix, OfAPointToItselfIsExactlyZero) {
  const Tensor x = torch::randn({40, 100}) * 1e3 + 1e5;
  EXPECT_EQ(cost_matrix(x, x, {}).diagonal().abs().max().item<float>(), 0);
}

TEST(CostMatrix, TakesRowsOfALargerTensor) {
  const Tensor big = torch::randn({10, 30}, torch::kDouble);
  const Tensor x = big.slice(1, 3, 20).slice(0, 2, 7);
  const Tensor y = big.slice(1, 10, 27).t().contiguous().t();
  for (const std::string& name : kCosts) {
    const Cost cost = parse_cost(name);
    EXPECT_LT(relative(cost_matrix(x, y, cost), naive_cost(x, y, cost)), 1e-11) << name;
  }
}

TEST(CostGradient, IsThatOfTheCostAgainstThePlan) {
  torch::manual_seed(3);
  for (const std::string& name : kCosts) {
    const Cost cost = parse_cost(name);
    const Tensor x = (torch::randn({7, 11}, torch::kDouble) + 5).requires_grad_();
    const Tensor y = torch::randn({5, 11}, torch::kDouble).requires_grad_();
    const Tensor plan = torch::rand({7, 5}, torch::kDouble);
    (naive_cost(x, y, cost) * plan).sum().backward();
    EXPECT_LT((cost_gradient(x, y, plan, cost) - x.grad()).abs().max().item<double>(), 1e-9)
        << name;
    EXPECT_LT((cost_gradient(y, x, plan.t(), cost) - y.grad()).abs().max().item<double>(), 1e-9)
        << name;
  }
}

TEST(LabelPenalty, IsThatOfOneHotCoordinates) {
  const Tensor labels_x = torch::tensor({0, 1, 2, 2}, torch::kLong);
  const Tensor labels_y = torch::tensor({2, 0, 1}, torch::kInt);
  constexpr double kWeight = 15;
  const auto one_hot = [](const Tensor& labels) {
    return torch::one_hot(labels.to(torch::kLong), 3).to(torch::kDouble) * kWeight;
  };
  const Tensor x = torch::randn({4, 6}, torch::kDouble);
  const Tensor y = torch::randn({3, 6}, torch::kDouble);
  for (const std::string& name : kCosts) {
    const Cost cost = parse_cost(name);
    Tensor matrix = cost_matrix(x, y, cost);
    add_label_penalty(matrix, labels_x, labels_y, label_penalty(cost, kWeight));
    const Tensor expected = naive_cost(torch::cat({x, one_hot(labels_x)}, 1),
                                       torch::cat({y, one_hot(labels_y)}, 1), cost);
    EXPECT_LT(relative(matrix, expected), 1e-12) << name;
  }
}

TEST(ParseCost, ReadsWhatItWritesAndSaysWhatMustHold) {
  for (const std::string& name : kCosts) EXPECT_EQ(to_string(parse_cost(name)), name);
  for (const std::string bad :
       {"", "l2", "mixture", "mixture:", "mixture:-1", "mixture:1x", "lp:0.5", "lp:nan", "lp:inf"})
    EXPECT_THROW(parse_cost(bad), InvalidArgument) << bad;
}

}  // namespace
}  // namespace obol::transport
