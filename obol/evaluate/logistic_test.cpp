#include "obol/evaluate/logistic.h"

#include <cmath>

#include <gtest/gtest.h>

namespace obol::evaluate {
namespace {

using torch::Tensor;

struct Problem {
  Tensor points;  // [60, 6]
  Tensor labels;
};

// Numbers that any language computes alike. Double, since the reference was computed so.
Problem problem(std::int64_t classes) {
  const Tensor row = at::arange(60, torch::kDouble).view({60, 1});
  const Tensor points = (1 + torch::sin(1 + row * (at::arange(6, torch::kDouble) + 2))) / 2;
  const Tensor mixed =
      3 * points.select(1, 0) + 2 * points.select(1, 1) + 0.4 * row.flatten().remainder(3);
  return {points, mixed.floor().to(torch::kLong).remainder(classes)};
}

const LogisticOptions kToTheEnd{.most_iterations = 1000, .tolerance = 1e-8};

// The optimum by SciPy's BFGS on the objective alone, with numerical gradients.
TEST(FitLogistic, OfThreeClassesIsWhatScipyFinds) {
  const auto [points, labels] = problem(3);
  const LogisticFit fit = fit_logistic(points, labels, 3, kToTheEnd);
  EXPECT_NEAR(fit.objective, 58.3243035830, 1e-8);
  const Tensor first = torch::tensor(
      {0.63344456, -0.80566586, -0.52016975, 0.25024416, 0.1383796, -0.0332122}, torch::kDouble);
  EXPECT_TRUE(fit.weights[0].allclose(first, 0, 1e-5)) << fit.weights;
  const Tensor intercepts = torch::tensor({0.37391739, 0.38275631, -0.7566737}, torch::kDouble);
  EXPECT_TRUE((fit.intercepts - fit.intercepts.mean()).allclose(intercepts, 0, 1e-5))
      << fit.intercepts;
  EXPECT_LT(fit.largest_gradient, 1e-6);
}

TEST(FitLogistic, OfTwoClassesHasOneVectorOfWeights) {
  const auto [points, labels] = problem(2);
  const LogisticFit fit = fit_logistic(points, labels, 2, kToTheEnd);
  EXPECT_NEAR(fit.objective, 39.1838756558, 1e-8);
  const Tensor second = torch::tensor(
      {0.8559011, -0.42857614, 0.42844097, 0.1908107, -0.53319139, 0.10275876}, torch::kDouble);
  EXPECT_TRUE(fit.weights[1].allclose(second, 0, 1e-5)) << fit.weights;
  EXPECT_EQ(fit.weights[0].abs().max().item<double>(), 0);
  EXPECT_NEAR((fit.intercepts[1] - fit.intercepts[0]).item<double>(), -0.05124631, 1e-5);
}

TEST(FitLogistic, ByDefaultEndsNearTheOptimum) {
  const auto [points, labels] = problem(3);
  const LogisticFit fit = fit_logistic(points, labels, 3);
  EXPECT_LT(fit.largest_gradient, 1e-2);
  EXPECT_NEAR(fit.objective, 58.3243035830, 1e-4);
}

// The optimum w of w^2 / 2 + 2 log(1 + exp(-w)) has w (1 + e^w) = 2; without the penalty there is
// none.
TEST(FitLogistic, DoesNotRunAwayWhereClassesCanBeToldApart) {
  const Tensor points = torch::tensor({{-1.0F}, {1.0F}});
  const LogisticFit fit = fit_logistic(points, torch::tensor({0, 1}, at::kLong), 2, kToTheEnd);
  const double w = fit.weights[1][0].item<double>();
  EXPECT_NEAR(w * (1 + std::exp(w)), 2, 1e-7);
  EXPECT_NEAR(fit.intercepts[1].item<double>(), 0, 1e-7);
  const LogisticFit weaker = fit_logistic(points, torch::tensor({0, 1}, at::kLong), 2,
                                          {.inverse_penalty = 100, .tolerance = 1e-8});
  const double v = weaker.weights[1][0].item<double>();
  EXPECT_NEAR(v * (1 + std::exp(v)), 200, 1e-4);
}

TEST(FitLogistic, DoesNotPenaliseTheIntercept) {
  // Points that say nothing: the probabilities must be the shares of the classes.
  const Tensor labels = at::arange(100, at::kLong).lt(90).to(at::kLong);
  const LogisticFit fit = fit_logistic(torch::zeros({100, 3}), labels, 2, kToTheEnd);
  EXPECT_NEAR((fit.intercepts[1] - fit.intercepts[0]).item<double>(), std::log(9.0), 1e-6);
}

TEST(FitLogistic, NeverNamesAClassThatItHasNotSeen) {
  auto [points, labels] = problem(3);
  const LogisticFit some = fit_logistic(points, 2 * labels, 6, kToTheEnd);
  const LogisticFit all = fit_logistic(points, labels, 3, kToTheEnd);
  const Tensor logits = torch::addmm(some.intercepts, points, some.weights.t());
  EXPECT_TRUE(logits.argmax(1).remainder(2).eq(0).all().item<bool>());
  EXPECT_TRUE(some.weights.slice(0, 0, 6, 2).allclose(all.weights));
}

}  // namespace
}  // namespace obol::evaluate
