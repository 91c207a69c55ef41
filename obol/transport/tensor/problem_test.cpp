#include "obol/transport/tensor/problem.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/transport/testing.h"

namespace obol::transport {
namespace {

using torch::Tensor;

Tensor numbers(const std::vector<double>& values, torch::Dtype type = torch::kDouble) {
  return torch::tensor(values, torch::kDouble).to(type);
}

// A grid of one dimension with the weights of a Gaussian, which sums make as good as an integral.
struct Grid {
  Tensor points;
  Tensor weights;
  Grid(double mean, double deviation, std::int64_t count) {
    const Tensor z = torch::linspace(-7, 7, count, torch::kDouble);
    points = (mean + deviation * z).unsqueeze(1);
    weights = (-z.square() / 2).exp();
    weights = weights / weights.sum();
  }
};

TEST(SinkhornOfPoints, GaussiansHaveTheirClosedForm) {
  constexpr double kMean = 1.5;
  constexpr double kWide = 1.2;
  constexpr double kNarrow = 0.7;
  for (const double regularization : {0.3, 1.0, 20.0}) {
    const Grid p(0, kWide, 201);
    const Grid q(kMean, kNarrow, 171);
    const Problem problem{.x = p.points, .y = q.points, .a = p.weights, .b = q.weights};
    const Solution solution = sinkhorn(
        problem, {.regularization = regularization, .tolerance = 1e-12, .max_iterations = 20000});
    ASSERT_TRUE(solution.converged);
    // The plan is a Gaussian whose covariance c solves c^2 + regularization/2 c = (s t)^2.
    const double st = kWide * kNarrow;
    const double c = -regularization / 4 + std::hypot(regularization / 4, st);
    const double cost = kMean * kMean + kWide * kWide + kNarrow * kNarrow - 2 * c;
    const double divergence = -0.5 * std::log1p(-c * c / (st * st));
    EXPECT_NEAR(solution.primal, cost, 1e-8);
    EXPECT_NEAR(solution.dual, cost + regularization * divergence, 1e-8);
    // Its logarithm is a polynomial, and so are the potentials: f has this second derivative.
    const double curvature =
        2 + regularization * (1 / (kWide * kWide) - kNarrow * kNarrow / (st * st - c * c));
    const double step = (p.points[1] - p.points[0]).item<double>();
    const Tensor f = solution.f.slice(0, 50, -50);  // where there is weight to speak of
    const Tensor bends = f.slice(0, 2) - 2 * f.slice(0, 1, -1) + f.slice(0, 0, -2);
    EXPECT_LT((bends / (step * step) - curvature).abs().max().item<double>(), 1e-5);
    const Tensor plan = transport_plan(problem, solution);
    EXPECT_LT((plan.sum(1) - p.weights).abs().max().item<double>(), 1e-12);
    EXPECT_LT((plan.sum(0) - q.weights).abs().max().item<double>(), 1e-12);
  }
}

TEST(SinkhornOfPoints, BetweenTwoDiracsIsTheirCost) {
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    const Tensor x = numbers({1, 2}, type).unsqueeze(0);
    const Tensor y = numbers({4, -2}, type).unsqueeze(0);
    for (const auto& [name, cost] : std::vector<std::pair<std::string, double>>{
             {"l2sq", 25}, {"l1", 7}, {"mixture:2", 39}, {"lp:3", 91}}) {
      const Solution solution = sinkhorn({x, y, parse_cost(name)}, {.regularization = 0.1});
      EXPECT_TRUE(solution.converged);
      EXPECT_FLOAT_EQ(static_cast<float>(solution.dual), static_cast<float>(cost)) << name;
      EXPECT_FLOAT_EQ(static_cast<float>(solution.primal), static_cast<float>(cost)) << name;
    }
  }
}

TEST(SinkhornOfPoints, FindsAPermutation) {
  const Tensor x = torch::arange(12, torch::kDouble).unsqueeze(1) * 3;
  const Tensor order = torch::randperm(12);
  const Tensor y = x.index_select(0, order) + 0.5;
  const Problem problem{x, y};
  const Solution solution = sinkhorn(problem, {.regularization = 0.01, .annealing = 0.5});
  EXPECT_TRUE(solution.converged);
  EXPECT_NEAR(solution.primal, 0.25, 1e-9);
  const Tensor plan = transport_plan(problem, solution);
  EXPECT_TRUE(plan.argmax(0).equal(order));
  EXPECT_NEAR(exact_transport(problem).value, 0.25, 1e-12);
}

TEST(SinkhornOfPoints, ScalesWithTheUnitOfLength) {
  const Tensor x = torch::randn({20, 4}, torch::kDouble);
  const Tensor y = torch::randn({30, 4}, torch::kDouble);
  const Solution one = sinkhorn({x, y}, {.regularization = 0.5});
  const Solution ten = sinkhorn({10 * x, 10 * y}, {.regularization = 50});
  EXPECT_NEAR(ten.dual, 100 * one.dual, 1e-8);
  EXPECT_NEAR(ten.primal, 100 * one.primal, 1e-8);
  const Solution moved = sinkhorn({x + 7, y + 7}, {.regularization = 0.5});
  EXPECT_NEAR(moved.dual, one.dual, 1e-10);
}

reference::Problem as_reference(const Problem& problem, double regularization) {
  const auto vector = [](const Tensor& tensor) {
    const Tensor values = tensor.to(torch::kDouble).contiguous();
    return std::vector<double>(values.data_ptr<double>(),
                               values.data_ptr<double>() + values.numel());
  };
  const Tensor x = problem.x.to(torch::kDouble);
  const Tensor y = problem.y.to(torch::kDouble);
  const Tensor cost = (x.unsqueeze(1) - y.unsqueeze(0)).square().sum(2);
  const auto uniform = [](std::int64_t count) {
    return torch::full({count}, 1.0 / static_cast<double>(count), torch::kDouble);
  };
  return {.cost = vector(cost),
          .a = vector(uniform(x.size(0))),
          .b = vector(uniform(y.size(0))),
          .regularization = regularization};
}

TEST(SinkhornOfPoints, AgreesWithTheReferenceOrSaysThatItDidNotConverge) {
  torch::manual_seed(4);
  struct Case {
    std::int64_t n;
    std::int64_t m;
    double offset;
    bool duplicates;
  };
  int converged = 0;
  for (const Case& c : {Case{1, 1, 0, false}, Case{1, 9, 0, false}, Case{9, 1, 1e6, false},
                        Case{40, 3, 0, false}, Case{12, 13, 1e6, false}, Case{16, 16, 0, true}}) {
    for (const double relative : {1e-4, 1e-2, 1.0, 1e2, 1e4}) {
      for (const auto type : {torch::kFloat, torch::kDouble}) {
        Tensor x = (torch::randn({c.n, 5}, torch::kDouble) + c.offset).to(type);
        Tensor y = (torch::randn({c.m, 5}, torch::kDouble) + c.offset).to(type);
        if (c.duplicates) x = torch::cat({x.slice(0, 0, 8), x.slice(0, 0, 8)});
        const Problem problem{x, y};
        const double mean =
            cost_matrix(x.to(torch::kDouble), y.to(torch::kDouble), {}).mean().item<double>();
        const double regularization = relative * mean;
        const Solution solution =
            sinkhorn(problem, {.regularization = regularization,
                               .tolerance = type == torch::kFloat ? 1e-5 : 1e-9,
                               .max_iterations = 20000,
                               .annealing = 0.7});
        EXPECT_TRUE(std::isfinite(solution.dual) && std::isfinite(solution.primal));
        EXPECT_TRUE(solution.f.isfinite().all().item<bool>());
        EXPECT_TRUE(transport_plan(problem, solution).isfinite().all().item<bool>());
        if (!solution.converged) continue;
        ++converged;
        const auto expected = reference::solve(as_reference(problem, regularization), 5000);
        if (expected.marginal_error > 1e-6) continue;
        const double accuracy = type == torch::kFloat ? 1e-4 : 1e-7;
        EXPECT_NEAR(solution.dual, expected.dual, accuracy * std::abs(expected.dual))
            << c.n << " x " << c.m << " + " << c.offset << " at " << relative;
        EXPECT_NEAR(solution.primal, expected.primal, accuracy * std::abs(expected.primal))
            << c.n << " x " << c.m << " + " << c.offset << " at " << relative;
      }
    }
  }
  EXPECT_GE(converged, 48);  // of 60
}

TEST(SinkhornOfPoints, SeparateClassesAreProblemsOfTheirOwn) {
  torch::manual_seed(5);
  const Tensor x = torch::randn({9, 3}, torch::kDouble);
  const Tensor y = torch::randn({8, 3}, torch::kDouble);
  const Tensor labels_x = torch::tensor({0, 1, 1, 0, 2, 1, 0, 1, 3}, torch::kLong);
  const Tensor labels_y = torch::tensor({1, 0, 1, 0, 4, 1, 1, 2}, torch::kLong);
  const SinkhornOptions options{.regularization = 0.5, .tolerance = 1e-11};
  const Problem problem{
      .x = x, .y = y, .labels_x = labels_x, .labels_y = labels_y, .label_weight = kSeparateClasses};
  const Solution whole = sinkhorn(problem, options);
  double dual = 0;
  for (const int label : {0, 1, 2}) {  // 3 and 4 stand on one side only
    const Tensor rows = labels_x.eq(label).nonzero().squeeze(1);
    const Tensor columns = labels_y.eq(label).nonzero().squeeze(1);
    const Solution part = sinkhorn({x.index_select(0, rows), y.index_select(0, columns)}, options);
    dual += static_cast<double>(rows.size(0)) / 9 * part.dual;
    EXPECT_LT((whole.f.index_select(0, rows) - part.f).abs().max().item<double>(), 1e-9);
  }
  EXPECT_NEAR(whole.dual, dual, 1e-12);
  EXPECT_TRUE(whole.converged);
  const Tensor plan = transport_plan(problem, whole);
  EXPECT_NEAR(plan.sum().item<double>(), 8.0 / 9, 1e-9);
  EXPECT_EQ((plan * labels_x.unsqueeze(1).ne(labels_y)).abs().sum().item<double>(), 0);
  EXPECT_NEAR((plan * cost_matrix(x, y, {})).sum().item<double>(), whole.primal, 1e-12);
  // A finite but large weight comes to the same where both sides have the same classes.
  Problem far{.x = x.slice(0, 0, 4),
              .y = y.slice(0, 0, 4),
              .labels_x = labels_x.slice(0, 0, 4),
              .labels_y = labels_y.slice(0, 0, 4),
              .label_weight = 1e3};
  const double with_weight = sinkhorn(far, options).primal;
  far.label_weight = kSeparateClasses;
  EXPECT_NEAR(with_weight, sinkhorn(far, options).primal, 1e-9);
}

TEST(SinkhornOfPoints, ManyProblemsAtOnceAreAsOneByOne) {
  torch::manual_seed(6);
  std::vector<Problem> problems;
  for (int i = 1; i <= 20; ++i)
    problems.push_back({torch::randn({3 + i, 4}), torch::randn({30 - i, 4})});
  const SinkhornOptions options{.regularization = 0.7};
  const std::vector<Solution> together = sinkhorn(problems, options);
  for (std::size_t i = 0; i < problems.size(); ++i) {
    const Solution alone = sinkhorn(problems[i], options);
    EXPECT_EQ(together[i].dual, alone.dual);
    EXPECT_TRUE(together[i].f.equal(alone.f));
    EXPECT_EQ(together[i].iterations, alone.iterations);
  }
}

TEST(SinkhornOfPoints, StartsFromASimilarSolution) {
  torch::manual_seed(7);
  const Tensor x = torch::randn({50, 10});
  const Tensor y = torch::randn({60, 10});
  const SinkhornOptions options{.regularization = 1};
  const Solution first = sinkhorn({x, y}, options);
  const Solution again = sinkhorn({x + 0.001, y}, options, &first);
  EXPECT_TRUE(again.converged);
  EXPECT_LT(again.iterations, first.iterations);
}

TEST(Exact, OneDimensionIsSorting) {
  torch::manual_seed(8);
  const Tensor x = torch::randn({40, 1}, torch::kDouble);
  const Tensor y = torch::randn({40, 1}, torch::kDouble) * 2;
  const Tensor sorted = std::get<0>(x.sort(0)) - std::get<0>(y.sort(0));
  EXPECT_NEAR(wasserstein2(x, y), std::sqrt(sorted.square().mean().item<double>()), 1e-12);
  EXPECT_NEAR(exact_transport({x, y, parse_cost("l1")}).value, sorted.abs().mean().item<double>(),
              1e-12);
}

template <class Body>
std::string message_of(const Body& body) {
  try {
    body();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "no complaint";
}

TEST(SinkhornOfPoints, SaysWhatDoesNotFitAndWhere) {
  const SinkhornOptions options{.regularization = 1};
  Tensor x = torch::zeros({4, 3});
  const Tensor y = torch::zeros({5, 3});
  const auto complaint = [&](const Problem& problem) {
    return message_of([&] { (void)sinkhorn(problem, options); });
  };
  EXPECT_EQ(complaint({x, torch::zeros({5, 4})}),
            "the number of coordinates of y must be 3, as of x, but is 4");
  EXPECT_EQ(complaint({x, torch::zeros({0, 3})}),
            "the shape of y must be [points, coordinates] with at least one point, but is 0x3");
  EXPECT_EQ(complaint({x, y.to(torch::kDouble)}),
            "the type of y must be Float, as of x, but is "
            "Double");
  EXPECT_EQ(complaint({.x = x, .y = y, .a = torch::tensor({0.5, 0.75, -0.25, 0.0})}),
            "a[2] must be finite and not negative, but is -0.25");
  EXPECT_EQ(complaint({.x = x, .y = y, .b = torch::full({5}, 1.0)}),
            "the sum of the weights b must be 1, but is 5");
  EXPECT_EQ(complaint({.x = x, .y = y, .label_weight = 15}),
            "labels must be given with a label_weight, but is missing");
  x[2][1] = NAN;
  EXPECT_EQ(complaint({x, y}), "x[2, 1] must be finite, but is nan");
  EXPECT_EQ(complaint({y, x}), "y[2, 1] must be finite, but is nan");
  EXPECT_EQ(message_of([&] {
              (void)sinkhorn({y, y}, {.regularization = 0});
            }),
            "regularization must be finite and positive, but is 0");
  EXPECT_EQ(complaint({torch::full({1, 3}, 1e30), torch::zeros({1, 3})}),
            "cost[0, 0] must be finite, but is inf");
}

}  // namespace
}  // namespace obol::transport
