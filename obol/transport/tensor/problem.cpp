#include "obol/transport/tensor/problem.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/transport/cpu/softmin.h"
#include "obol/transport/tensor/block.h"
#include "obol/transport/tensor/gpu.h"
#include "obol/transport/tensor/types.h"

namespace obol::transport {
namespace {

using torch::Tensor;

std::string shape_text(const Tensor& tensor) {
  std::string text;
  for (const auto size : tensor.sizes()) text += fmt::format("{}{}", text.empty() ? "" : "x", size);
  return text.empty() ? "a single number" : text;
}

void need(bool holds, std::string_view what, std::string_view requirement,
          const std::string& actual) {
  if (!holds) throw InvalidArgument(violation(what, requirement, actual));
}

// x[3, 17] must be finite, but is nan
void check_finite(const Tensor& rows, std::string_view name) {
  if (std::isfinite(rows.sum().item<double>())) return;  // only if all are; needs no memory
  const Tensor bad = rows.isfinite().logical_not_();
  if (!bad.any().item<bool>()) return;
  const Tensor first = bad.nonzero()[0];
  throw InvalidArgument(violation(
      fmt::format("{}[{}, {}]", name, first[0].item<std::int64_t>(), first[1].item<std::int64_t>()),
      "finite", rows[first[0].item<std::int64_t>()][first[1].item<std::int64_t>()].item<double>()));
}

// One point a row, whatever the shape of a point.
Tensor points_of(const Tensor& given, std::string_view name) {
  need(given.defined(), name, "given", "undefined");
  const bool is_real =
      given.scalar_type() == torch::kFloat || given.scalar_type() == torch::kDouble;
  need(is_real, fmt::format("the type of {}", name), "float or double",
       toString(given.scalar_type()));
  need(given.dim() >= 2 && given.size(0) > 0, fmt::format("the shape of {}", name),
       "[points, coordinates] with at least one point", shape_text(given));
  const Tensor rows = with_dense_rows(given.detach().flatten(1));
  check_finite(rows, name);
  return rows;
}

Tensor weights_of(const Tensor& given, const Tensor& points, std::string_view name) {
  if (!given.defined())
    return torch::full({points.size(0)}, 1.0 / static_cast<double>(points.size(0)),
                       points.options().dtype(torch::kDouble));
  need(given.dim() == 1 && given.size(0) == points.size(0),
       fmt::format("the shape of the weights {}", name),
       fmt::format("{}, as of points", points.size(0)), shape_text(given));
  const Tensor weights = given.detach().to(torch::kDouble).cpu().contiguous();
  const double* values = weights.data_ptr<double>();
  for (std::int64_t i = 0; i < weights.size(0); ++i)
    if (!(values[i] >= 0) || !std::isfinite(values[i]))
      throw InvalidArgument(
          violation(fmt::format("{}[{}]", name, i), "finite and not negative", values[i]));
  const double sum = weights.sum().item<double>();
  constexpr double kRounding = 1e-3;
  if (std::abs(sum - 1) > kRounding)
    throw InvalidArgument(violation(fmt::format("the sum of the weights {}", name), "1", sum));
  return (weights / sum).to(points.device());
}

Tensor labels_of(const Tensor& given, const Tensor& points, std::string_view name) {
  need(given.dim() == 1 && given.size(0) == points.size(0), fmt::format("the shape of {}", name),
       fmt::format("{}, as of points", points.size(0)), shape_text(given));
  need(!given.is_floating_point(), fmt::format("the type of {}", name), "whole numbers",
       toString(given.scalar_type()));
  return given.to(torch::kLong);
}

struct Labels {
  Tensor x;
  Tensor y;
};

// Those of each side, both undefined where they play no part.
Labels labels_of(const Problem& problem, const Tensor& x, const Tensor& y, Side side) {
  if (!(problem.label_weight >= 0))
    throw InvalidArgument(violation("label_weight", "not negative", problem.label_weight));
  const Tensor& other = side == Side::kItself ? problem.labels_x : problem.labels_y;
  if (problem.labels_x.defined() != other.defined())
    throw InvalidArgument(violation("labels", "given for both sides or none",
                                    other.defined() ? "given for y alone" : "given for x alone"));
  if (problem.label_weight == 0) return {};
  need(other.defined(), "labels", "given with a label_weight", "missing");
  return {labels_of(problem.labels_x, x, "labels_x"), labels_of(other, y, "labels_y")};
}

// One side of a problem, class by class.
class ByClass {
 public:
  // Everything is found out here; only then does it go to the device, at once.
  ByClass(const Tensor& points, const Tensor& weights, const Tensor& labels) {
    const Tensor here = labels.cpu().contiguous();
    const auto* values = here.data_ptr<std::int64_t>();
    Tensor order = torch::arange(here.numel());
    auto* first = order.data_ptr<std::int64_t>();
    std::stable_sort(first, first + order.numel(),
                     [&](auto a, auto b) { return values[a] < values[b]; });
    const Tensor shares = weights.cpu().index_select(0, order);
    for (std::int64_t from = 0, to = 0; from < order.numel(); from = to) {
      while (to < order.numel() && values[first[to]] == values[first[from]]) ++to;
      Tensor part = shares.slice(0, from, to);
      const double mass = part.sum().item<double>();
      if (mass > 0) part /= mass;
      parts_[values[first[from]]] = {from, to, mass};
    }
    order_ = order.to(points.device());
    shares_ = shares.to(points.device());
    points_ = points.index_select(0, order_);
  }

  struct Part {
    std::int64_t from = 0;
    std::int64_t to = 0;
    double mass = 0;  // all of the class's weights
  };
  [[nodiscard]] const std::map<std::int64_t, Part>& parts() const { return parts_; }
  [[nodiscard]] Tensor indices(const Part& part) const { return of(order_, part); }
  [[nodiscard]] Tensor weights(const Part& part) const { return of(shares_, part); }  // sum to 1
  [[nodiscard]] Tensor points(const Part& part) const { return of(points_, part); }

 private:
  static Tensor of(const Tensor& all, const Part& part) { return all.slice(0, part.from, part.to); }

  std::map<std::int64_t, Part> parts_;
  Tensor order_;
  Tensor shares_;
  Tensor points_;
};

// The blocks of classes that have weight on both sides.
std::vector<Block> separated(const Block& whole, const Labels& labels) {
  const ByClass x(whole.x, whole.a, labels.x);
  const ByClass y(whole.y, whole.b, labels.y);
  std::vector<Block> blocks;
  for (const auto& [label, part] : x.parts()) {
    const auto other = y.parts().find(label);
    if (part.mass == 0 || other == y.parts().end() || other->second.mass == 0) continue;
    blocks.push_back({.x = x.points(part),
                      .y = y.points(other->second),
                      .a = x.weights(part),
                      .b = y.weights(other->second),
                      .cost = {},
                      .rows = x.indices(part),
                      .columns = y.indices(other->second),
                      .mass = part.mass});
  }
  need(!blocks.empty(), "the classes of both sides", "one at least that both have", "none");
  return blocks;
}

template <class T>
std::span<const T> span_of(const Tensor& tensor) {
  return {tensor.data_ptr<T>(), static_cast<std::size_t>(tensor.numel())};
}

template <class T>
CostView<T> view_of(const Tensor& cost) {
  return {span_of<T>(cost), static_cast<std::size_t>(cost.size(0)),
          static_cast<std::size_t>(cost.size(1))};
}

std::vector<double> vector_of(const Tensor& tensor) {
  const Tensor values = tensor.to(torch::kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

Tensor tensor_of(const std::vector<double>& values) {
  return torch::tensor(at::ArrayRef<double>(values), torch::kDouble);
}

SinkhornOptions threaded(const SinkhornOptions& options, const Tensor& cost) {
  SinkhornOptions result = options;
  if (!result.parallel)
    result.parallel = [work = static_cast<double>(cost.numel())](std::size_t count,
                                                                 const auto& body) {
      parallel_rows(count, work, body);
    };
  return result;
}

Solution solve_one(const Block& block, const SinkhornOptions& options, Side side,
                   const Solution* start) {
  const SinkhornOptions with_threads = threaded(options, block.cost);
  const Weights weights{span_of<double>(block.a), span_of<double>(block.b)};
  Potentials from;
  if (start != nullptr) from = {vector_of(start->f), vector_of(start->g)};
  const SinkhornResult raw = with_type(block.x, [&](auto type) {
    const auto cost = view_of<decltype(type)>(block.cost);
    return side == Side::kItself ? transport::sinkhorn_self(cost, weights.a, with_threads)
                                 : transport::sinkhorn(cost, weights, with_threads,
                                                       start != nullptr ? &from : nullptr);
  });
  return {.f = tensor_of(raw.f),
          .g = tensor_of(raw.g),
          .dual = raw.dual,
          .primal = raw.primal,
          .marginal_error = raw.marginal_error,
          .iterations = raw.iterations,
          .converged = raw.converged,
          .regularization = options.regularization};
}

// The potentials of `start` that belong to the block.
Solution start_of(const Block& block, const Solution& start) {
  Solution part = start;
  part.f = part_of(start.f, block.rows);
  part.g = part_of(start.g, block.columns);
  return part;
}

Solution solve_all(const Problem& problem, const SinkhornOptions& options, Side side,
                   const Solution* start) {
  const torch::NoGradGuard no_grad;
  const std::vector<Block> blocks = blocks_of(problem, side);
  std::vector<Solution> starts;
  if (start != nullptr) {
    need(start->f.defined() && start->g.defined() && start->f.size(0) == problem.x.size(0) &&
             start->g.size(0) == problem.y.size(0),
         "the potentials to start from", "as many as points", "others");
    for (const Block& block : blocks) starts.push_back(start_of(block, *start));
  }
  return joined(problem, blocks, solve(blocks, options, side, starts), side);
}

}  // namespace

std::vector<Block> blocks_of(const Problem& problem, Side side) {
  Block whole;
  whole.x = points_of(problem.x, "x");
  whole.y = side == Side::kItself ? whole.x : points_of(problem.y, "y");
  need(whole.x.size(1) == whole.y.size(1), "the number of coordinates of y",
       fmt::format("{}, as of x", whole.x.size(1)), fmt::format("{}", whole.y.size(1)));
  need(whole.x.scalar_type() == whole.y.scalar_type(), "the type of y",
       fmt::format("{}, as of x", toString(whole.x.scalar_type())),
       toString(whole.y.scalar_type()));
  need(whole.x.device() == whole.y.device(), "the device of y",
       fmt::format("{}, as of x", whole.x.device().str()), whole.y.device().str());
  whole.a = weights_of(problem.a, whole.x, "a");
  whole.b = side == Side::kItself ? whole.a : weights_of(problem.b, whole.y, "b");
  const Labels labels = labels_of(problem, whole.x, whole.y, side);
  std::vector<Block> blocks;
  if (problem.label_weight == kSeparateClasses)
    blocks = separated(whole, labels);
  else
    blocks.push_back(std::move(whole));
  PointPairs pairs;
  for (const Block& block : blocks) pairs.emplace_back(block.x, block.y);
  const std::vector<Tensor> costs = cost_matrices(pairs, problem.cost);
  for (std::size_t k = 0; k < blocks.size(); ++k) blocks[k].cost = costs[k];
  if (problem.label_weight > 0 && problem.label_weight < kSeparateClasses)
    add_label_penalty(blocks[0].cost, labels.x, labels.y,
                      label_penalty(problem.cost, problem.label_weight));
  return blocks;
}

Tensor part_of(const Tensor& whole, const Tensor& indices) {
  return indices.defined() ? whole.index_select(0, indices) : whole;
}

std::vector<Solution> solve(const std::vector<Block>& blocks, const SinkhornOptions& options,
                            Side side, const std::vector<Solution>& starts) {
  if (blocks[0].x.is_cuda()) return gpu::solve(blocks, options, side, starts);
  std::vector<Solution> solutions(blocks.size());
  // Classes side by side; a single problem uses the threads within.
  const auto count = static_cast<std::int64_t>(blocks.size());
  at::parallel_for(0, count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto k = static_cast<std::size_t>(i);
      solutions[k] = solve_one(blocks[k], options, side, starts.empty() ? nullptr : &starts[k]);
    }
  });
  return solutions;
}

Tensor plan_rows(const Block& block, const Solution& solution, std::int64_t begin,
                 std::int64_t end) {
  if (block.x.is_cuda()) return gpu::plan_rows(block, solution, begin, end);
  Tensor plan = torch::empty({end - begin, block.y.size(0)}, block.x.options());
  with_type(block.x, [&](auto type) {
    using T = decltype(type);
    const auto columns = static_cast<std::size_t>(block.y.size(0));
    const cpu::PlanInput<double, T> in{.cost = block.cost.data_ptr<T>() + begin * block.y.size(0),
                                       .leading = columns,
                                       .columns = columns,
                                       .f = solution.f.data_ptr<double>() + begin,
                                       .a = block.a.data_ptr<double>() + begin,
                                       .g = solution.g.data_ptr<double>(),
                                       .b = block.b.data_ptr<double>(),
                                       .epsilon = solution.regularization};
    parallel_rows(static_cast<std::size_t>(end - begin), static_cast<double>(plan.numel()),
                  [&](std::size_t first, std::size_t last) {
                    cpu::plan_rows(in, {first, last}, plan.data_ptr<T>(), columns);
                  });
  });
  return plan;
}

Solution joined(const Problem& problem, const std::vector<Block>& blocks,
                const std::vector<Solution>& solutions, Side side) {
  if (!blocks[0].rows.defined()) return solutions[0];
  Solution whole;
  const auto options = blocks[0].a.options();
  whole.f = torch::zeros({problem.x.size(0)}, options);
  whole.g = side == Side::kItself ? whole.f : torch::zeros({problem.y.size(0)}, options);
  whole.converged = true;
  whole.regularization = solutions[0].regularization;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    whole.f.index_copy_(0, blocks[k].rows, solutions[k].f);
    whole.g.index_copy_(0, blocks[k].columns, solutions[k].g);
    whole.dual += blocks[k].mass * solutions[k].dual;
    whole.primal += blocks[k].mass * solutions[k].primal;
    whole.marginal_error += blocks[k].mass * solutions[k].marginal_error;
    whole.iterations = std::max(whole.iterations, solutions[k].iterations);
    whole.converged = whole.converged && solutions[k].converged;
  }
  return whole;
}

Solution sinkhorn(const Problem& problem, const SinkhornOptions& options, const Solution* start) {
  return solve_all(problem, options, Side::kOther, start);
}

std::vector<Solution> sinkhorn(const std::vector<Problem>& problems,
                               const SinkhornOptions& options) {
  std::vector<Solution> solutions(problems.size());
  at::parallel_for(0, static_cast<std::int64_t>(problems.size()), 1,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t i = begin; i < end; ++i) {
                       const auto k = static_cast<std::size_t>(i);
                       solutions[k] = solve_all(problems[k], options, Side::kOther, nullptr);
                     }
                   });
  return solutions;
}

Solution sinkhorn_self(const Problem& problem, const SinkhornOptions& options) {
  return solve_all(problem, options, Side::kItself, nullptr);
}

Tensor transport_plan(const Problem& problem, const Solution& solution) {
  const torch::NoGradGuard no_grad;
  const std::vector<Block> blocks = blocks_of(problem);
  if (!blocks[0].rows.defined()) return plan_rows(blocks[0], solution, 0, blocks[0].x.size(0));
  Tensor plan = torch::zeros({problem.x.size(0), problem.y.size(0)}, blocks[0].x.options());
  for (const Block& block : blocks) {
    const Tensor part = plan_rows(block, start_of(block, solution), 0, block.x.size(0));
    plan.index_put_({block.rows.unsqueeze(1), block.columns}, part * block.mass);
  }
  return plan;
}

ExactResult exact_transport(const Problem& problem, const ExactOptions& options) {
  const torch::NoGradGuard no_grad;
  need(problem.label_weight < kSeparateClasses, "label_weight", "finite in exact transport",
       "infinite");
  const std::vector<Block> blocks = blocks_of(problem);
  const Block& block = blocks[0];
  // Uniform weights stay implicit, which is what makes an assignment problem.
  const auto weights = [](const Tensor& given) {
    return given.defined() ? vector_of(given) : std::vector<double>{};
  };
  const std::vector<double> a = weights(problem.a);
  const std::vector<double> b = weights(problem.b);
  const Tensor cost = block.cost.cpu();
  return with_type(cost, [&](auto type) {
    return transport::exact_transport(view_of<decltype(type)>(cost), a, b, options);
  });
}

double wasserstein2(const Tensor& x, const Tensor& y) {
  return std::sqrt(std::max(0.0, exact_transport(Problem{x, y}).value));
}

}  // namespace obol::transport
