#include "obol/transport/tensor/loss.h"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/transport/tensor/testing.h"

namespace obol::transport {
namespace {

using torch::Tensor;

const SinkhornOptions kExactly{.regularization = 2, .tolerance = 1e-13, .max_iterations = 100000};

// The largest difference between the derivative that `loss` claims and central differences.
double error_of_gradient(const Tensor& at, const std::function<Tensor(const Tensor&)>& loss) {
  constexpr double kStep = 1e-5;
  const Tensor x = at.clone().requires_grad_();
  loss(x).backward();
  const Tensor claimed = x.grad().flatten();
  double worst = 0;
  for (std::int64_t k = 0; k < at.numel(); ++k) {
    const auto value = [&](double step) {
      Tensor moved = at.clone();
      moved.view(-1)[k] += step;
      return loss(moved).item<double>();
    };
    const double slope = (value(kStep) - value(-kStep)) / (2 * kStep);
    worst = std::max(worst, std::abs(slope - claimed[k].item<double>()));
  }
  return worst;
}

struct Setting {
  Tensor x = torch::randn({7, 3}, torch::kDouble);
  Tensor y = torch::randn({6, 3}, torch::kDouble) + 0.5;
  Tensor labels_x = torch::tensor({0, 1, 0, 1, 1, 0, 0}, torch::kLong);
  Tensor labels_y = torch::tensor({1, 0, 0, 1, 0, 1}, torch::kLong);

  [[nodiscard]] Problem with(const Tensor& points_x, const Tensor& points_y, const Cost& cost,
                             double label_weight) const {
    Problem problem{.x = points_x, .y = points_y, .cost = cost, .label_weight = label_weight};
    if (label_weight > 0) {
      problem.labels_x = labels_x;
      problem.labels_y = labels_y;
    }
    return problem;
  }
};

constexpr double kGradientError = 1e-7;

TEST(TransportLoss, GradientsAreThoseOfTheDualValue) {
  torch::manual_seed(1);
  const Setting s;
  for (const std::string name : {"l2sq", "l1", "mixture:0.5", "lp:1.5"}) {
    for (const double weight : {0.0, 0.6, kSeparateClasses}) {
      const Cost cost = parse_cost(name);
      EXPECT_LT(error_of_gradient(s.x,
                                  [&](const Tensor& x) {
                                    return entropic_cost(s.with(x, s.y, cost, weight), kExactly);
                                  }),
                kGradientError)
          << name << " x " << weight;
      EXPECT_LT(error_of_gradient(s.y,
                                  [&](const Tensor& y) {
                                    return entropic_cost(s.with(s.x, y, cost, weight), kExactly);
                                  }),
                kGradientError)
          << name << " y " << weight;
      EXPECT_LT(error_of_gradient(s.x,
                                  [&](const Tensor& x) {
                                    return entropic_self_cost(s.with(x, {}, cost, weight),
                                                              kExactly);
                                  }),
                kGradientError)
          << name << " self " << weight;
      EXPECT_LT(error_of_gradient(s.x,
                                  [&](const Tensor& x) {
                                    return sinkhorn_divergence(s.with(x, s.y, cost, weight),
                                                               kExactly);
                                  }),
                kGradientError)
          << name << " divergence " << weight;
    }
  }
}

TEST(TransportLoss, RowsOnBothSidesOfTheSelfTermHearOfBoth) {
  torch::manual_seed(2);
  const Setting s;
  for (const double weight : {0.0, 0.6, kSeparateClasses}) {
    for (const std::int64_t resampled : {0, 1, 3, 7}) {
      const Tensor x = torch::cat({s.x, torch::randn({resampled, 3}, torch::kDouble)});
      EXPECT_LT(error_of_gradient(x,
                                  [&](const Tensor& points) {
                                    return semi_debiased_divergence(
                                        s.with(points, s.y, parse_cost("mixture:0.5"), weight),
                                        resampled, kExactly);
                                  }),
                kGradientError)
          << resampled << " " << weight;
    }
  }
}

TEST(TransportLoss, WeightsTakePart) {
  torch::manual_seed(3);
  const Setting s;
  const Tensor a = torch::tensor({0.1, 0.2, 0.0, 0.3, 0.1, 0.2, 0.1}, torch::kDouble);
  const Tensor b = torch::tensor({0.5, 0.1, 0.1, 0.1, 0.1, 0.1}, torch::kDouble);
  const auto loss = [&](const Tensor& x) {
    return sinkhorn_divergence({.x = x, .y = s.y, .a = a, .b = b}, kExactly);
  };
  EXPECT_LT(error_of_gradient(s.x, loss), kGradientError);
  const Tensor x = s.x.clone().requires_grad_();
  loss(x).backward();
  EXPECT_EQ(x.grad()[2].abs().sum().item<double>(), 0);
}

TEST(SinkhornDivergence, OfEqualMeasuresIsZero) {
  torch::manual_seed(4);
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    const Tensor x = torch::randn({30, 5}, type);
    const Tensor repeated = torch::cat({x, x});
    const Tensor shuffled = x.index_select(0, torch::randperm(30));
    for (const Tensor& y : {shuffled, repeated}) {
      const Tensor value = sinkhorn_divergence({x, y}, {.regularization = 0.5});
      EXPECT_NEAR(value.item<double>(), 0, 1e-5);
    }
    EXPECT_GT(sinkhorn_divergence({x, x + 1}, {.regularization = 0.5}).item<double>(), 1);
  }
}

TEST(SinkhornDivergence, BetweenTwoDiracsIsTwiceTheirCost) {
  const Tensor x = torch::zeros({1, 2}, torch::kDouble);
  const Tensor y = torch::full({1, 2}, 3.0, torch::kDouble);
  EXPECT_NEAR(sinkhorn_divergence({x, y}, kExactly).item<double>(), 36, 1e-12);
}

TEST(SemiDebiased, RangesFromTheSelfTermToASecondSample) {
  torch::manual_seed(5);
  const Setting s;
  const Tensor second = torch::randn({7, 3}, torch::kDouble);
  const Problem problem = s.with(s.x, s.y, {}, 0.6);
  const double none = semi_debiased_divergence(problem, 0, kExactly).item<double>();
  const Problem of_y{.x = s.y, .cost = {}, .labels_x = s.labels_y, .label_weight = 0.6};
  EXPECT_NEAR(
      none,
      (sinkhorn_divergence(problem, kExactly) + entropic_self_cost(of_y, kExactly)).item<double>(),
      1e-10);
  const Problem both = s.with(torch::cat({s.x, second}), s.y, {}, 0.6);
  const double all = semi_debiased_divergence(both, 7, kExactly).item<double>();
  const Problem own{
      .x = s.x, .y = second, .labels_x = s.labels_x, .labels_y = s.labels_x, .label_weight = 0.6};
  const double two_samples =
      (2 * entropic_cost(problem, kExactly) - entropic_cost(own, kExactly)).item<double>();
  EXPECT_NEAR(all, two_samples, 1e-10);
}

TEST(TransportLoss, KeepsTheShapeOfImagesAndTheChainRule) {
  const Tensor z = torch::randn({6, 1, 4, 4}, torch::kDouble).requires_grad_();
  const Tensor y = torch::randn({5, 1, 4, 4}, torch::kDouble);
  (3 * sinkhorn_divergence({torch::tanh(z), y}, kExactly)).backward();
  EXPECT_EQ(z.grad().sizes(), z.sizes());
  EXPECT_GT(z.grad().abs().sum().item<double>(), 0);
  EXPECT_FALSE(sinkhorn_divergence({y, y}, kExactly).requires_grad());
}

TEST(TransportLoss, RefusesSecondDerivatives) {
  const Tensor x = torch::randn({4, 2}, torch::kDouble).requires_grad_();
  const Tensor loss = entropic_cost({x, torch::zeros({3, 2}, torch::kDouble)}, kExactly);
  EXPECT_THROW(torch::autograd::grad({loss}, {x}, {}, true, true), InvalidArgument);
}

}  // namespace
}  // namespace obol::transport
