#include "obol/transport/sinkhorn.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/transport/cpu/softmin.h"

namespace obol::transport {
namespace {

using Range = std::function<void(std::size_t, std::size_t)>;

void run(const SinkhornOptions& options, std::size_t count, const Range& body) {
  if (options.parallel)
    options.parallel(count, body);
  else
    body(0, count);
}

void check(const SinkhornOptions& options) {
  const auto need = [](bool holds, std::string_view what, std::string_view requirement,
                       auto value) {
    if (!holds) throw InvalidArgument(violation(what, requirement, value));
  };
  need(std::isfinite(options.regularization) && options.regularization > 0, "regularization",
       "finite and positive", options.regularization);
  need(options.tolerance >= 0, "tolerance", "not negative", options.tolerance);
  need(options.max_iterations >= 1, "max_iterations", "at least 1", options.max_iterations);
  need(options.over_relaxation >= 1 && options.over_relaxation < 2, "over_relaxation",
       "at least 1 and below 2", options.over_relaxation);
  need(options.annealing > 0 && options.annealing <= 1, "annealing", "above 0 and at most 1",
       options.annealing);
}

template <class T>
void check(const CostView<T>& cost) {
  if (cost.rows < 1 || cost.columns < 1)
    throw InvalidArgument(violation("a cost matrix", "of at least one row and column",
                                    fmt::format("{} x {}", cost.rows, cost.columns)));
  if (cost.values.size() != cost.rows * cost.columns)
    throw InvalidArgument(violation("the number of costs",
                                    fmt::format("{}, rows times columns", cost.rows * cost.columns),
                                    cost.values.size()));
  for (std::size_t i = 0; i < cost.rows; ++i) {
    const T* row = cost.row(i);
    // A sum is finite only if all are, or nearly: look closer only then.
    T sum = 0;
    for (std::size_t j = 0; j < cost.columns; ++j) sum += std::abs(row[j]);
    if (std::isfinite(sum)) continue;
    for (std::size_t j = 0; j < cost.columns; ++j)
      if (!std::isfinite(row[j]))
        throw InvalidArgument(
            violation(fmt::format("cost[{}, {}]", i, j), "finite", static_cast<double>(row[j])));
  }
}

// One side's weights, normalised, and their logarithms.
template <class T>
struct Side {
  std::vector<T> weights;
  std::vector<T> logs;

  Side(std::span<const T> given, std::size_t size, std::string_view name) {
    if (given.empty()) {
      weights.assign(size, static_cast<T>(1.0 / static_cast<double>(size)));
      logs.assign(size, static_cast<T>(-std::log(static_cast<double>(size))));
      return;
    }
    if (given.size() != size)
      throw InvalidArgument(violation(fmt::format("the number of weights {}", name),
                                      fmt::format("{}, as of points", size), given.size()));
    for (std::size_t i = 0; i < size; ++i)
      if (!(given[i] >= 0) || !std::isfinite(given[i]))
        throw InvalidArgument(violation(fmt::format("{}[{}]", name, i), "finite and not negative",
                                        static_cast<double>(given[i])));
    const double sum = std::accumulate(given.begin(), given.end(), 0.0);
    constexpr double kRounding = 1e-3;
    if (std::abs(sum - 1) > kRounding)
      throw InvalidArgument(violation(fmt::format("the sum of the weights {}", name), "1", sum));
    for (const T weight : given) {
      weights.push_back(static_cast<T>(weight / sum));
      logs.push_back(static_cast<T>(std::log(static_cast<double>(weight) / sum)));
    }
  }
};

template <class T>
std::vector<T> transposed(const CostView<T>& cost) {
  constexpr std::size_t kBlock = 32;
  std::vector<T> result(cost.rows * cost.columns);
  for (std::size_t i0 = 0; i0 < cost.rows; i0 += kBlock)
    for (std::size_t j0 = 0; j0 < cost.columns; j0 += kBlock)
      for (std::size_t i = i0; i < std::min(i0 + kBlock, cost.rows); ++i)
        for (std::size_t j = j0; j < std::min(j0 + kBlock, cost.columns); ++j)
          result[j * cost.rows + i] = cost.values[i * cost.columns + j];
  return result;
}

template <class T>
class Solver {
 public:
  Solver(const CostView<T>& cost, const Weights<T>& weights, const SinkhornOptions& options,
         std::vector<T> transposed_cost)
      : cost_(cost),
        options_(options),
        a_(weights.a, cost.rows, "a"),
        b_(weights.b, cost.columns, "b"),
        transposed_(std::move(transposed_cost)),
        next_(cost.rows) {}

  SinkhornResult<T> solve(const Potentials<T>* start) {
    SinkhornResult<T> result;
    result.f.assign(cost_.rows, 0);
    result.g.assign(cost_.columns, 0);
    if (start != nullptr) take(*start, result);
    const double epsilon = options_.regularization;
    for_each_warmer([&](double warm) {
      if (result.iterations < options_.max_iterations) sweep(result, warm, 1);
    });
    if (options_.stopping == Stopping::kAnnealed) {
      sweep(result, epsilon, 1);
      update_rows(result, epsilon);
      result.marginal_error = row_error(result, epsilon);
      result.converged = result.marginal_error <= options_.tolerance;
    } else {
      converge(result, epsilon);
    }
    finish(result, epsilon);
    return result;
  }

  SinkhornResult<T> solve_self() {
    SinkhornResult<T> result;
    result.f.assign(cost_.rows, 0);
    const auto average = [&](double epsilon) {
      softmin(cost_.values.data(), cost_.columns, a_, result.f, epsilon, next_);
      move(result.f, next_, 0.5);
      ++result.iterations;
    };
    for_each_warmer([&](double warm) {
      if (result.iterations < options_.max_iterations) average(warm);
    });
    const double epsilon = options_.regularization;
    if (options_.stopping == Stopping::kAnnealed) average(epsilon);
    while (true) {
      softmin(cost_.values.data(), cost_.columns, a_, result.f, epsilon, next_);
      result.marginal_error = row_error(result, epsilon);
      result.converged = result.marginal_error <= options_.tolerance;
      const bool is_over = options_.stopping == Stopping::kAnnealed || result.converged ||
                           result.iterations >= options_.max_iterations;
      if (is_over) break;
      move(result.f, next_, 0.5);
      ++result.iterations;
    }
    result.g = result.f;
    finish(result, epsilon);
    // Neither side's sums are exact here, and the dual value counts what is too much or too little.
    for (std::size_t i = 0; i < next_.size(); ++i)
      if (a_.weights[i] > 0)
        result.dual -= epsilon * a_.weights[i] *
                       std::expm1((static_cast<double>(result.f[i]) - next_[i]) / epsilon);
    return result;
  }

 private:
  void take(const Potentials<T>& start, SinkhornResult<T>& result) const {
    if (start.f.size() != result.f.size() || start.g.size() != result.g.size())
      throw InvalidArgument(
          violation("the potentials to start from",
                    fmt::format("{} and {} long", result.f.size(), result.g.size()),
                    fmt::format("{} and {}", start.f.size(), start.g.size())));
    result.f = start.f;
    result.g = start.g;
  }

  [[nodiscard]] double largest_cost() const {
    T largest = 0;
    for (std::size_t i = 0; i < cost_.rows; ++i)
      for (std::size_t j = 0; j < cost_.columns; ++j)
        largest = std::max(largest, std::abs(cost_.values[i * cost_.columns + j]));
    return static_cast<double>(largest);
  }

  // Regularizations from the largest cost down to, not including, the target.
  template <class Body>
  void for_each_warmer(const Body& body) const {
    const bool is_annealed = options_.stopping == Stopping::kAnnealed;
    const double ratio = is_annealed && options_.annealing == 1 ? 0.5 : options_.annealing;
    if (ratio == 1) return;
    for (double warm = largest_cost(); warm > options_.regularization; warm *= ratio) body(warm);
  }

  // out_i = -epsilon log sum_j exp(log b_j + (g_j - C_ij)/epsilon), for the rows of `matrix`.
  void softmin(const T* matrix, std::size_t leading, const Side<T>& side,
               const std::vector<T>& potentials, double epsilon, std::vector<T>& out) {
    h_.resize(potentials.size());
    for (std::size_t j = 0; j < potentials.size(); ++j)
      h_[j] = static_cast<T>(side.logs[j] + potentials[j] / epsilon);
    const cpu::SoftminInput<T> in{.cost = matrix,
                                  .leading = leading,
                                  .columns = potentials.size(),
                                  .h = h_.data(),
                                  .epsilon = epsilon};
    run(options_, out.size(), [&](std::size_t begin, std::size_t end) {
      cpu::softmin(in, {begin, end}, out.data());
    });
  }

  void update_rows(const SinkhornResult<T>& result, double epsilon) {
    softmin(cost_.values.data(), cost_.columns, b_, result.g, epsilon, next_);
  }

  void sweep(SinkhornResult<T>& result, double epsilon, double step) {
    update_rows(result, epsilon);
    step_rows(result, step);
    step_columns(result, epsilon, step);
  }

  void step_rows(SinkhornResult<T>& result, double step) { move(result.f, next_, step); }

  void step_columns(SinkhornResult<T>& result, double epsilon, double step) {
    if (step == 1) {
      softmin(transposed_.data(), cost_.rows, a_, result.f, epsilon, result.g);
    } else {
      columns_.resize(result.g.size());
      softmin(transposed_.data(), cost_.rows, a_, result.f, epsilon, columns_);
      move(result.g, columns_, step);
    }
    ++result.iterations;
  }

  static void move(std::vector<T>& potentials, const std::vector<T>& to, double step) {
    if (step == 1) {
      potentials = to;
      return;
    }
    for (std::size_t i = 0; i < to.size(); ++i)
      potentials[i] += static_cast<T>(step * (static_cast<double>(to[i]) - potentials[i]));
  }

  // After g was updated the columns are right, and row i has the mass a_i exp((f_i -
  // next_i)/epsilon).
  [[nodiscard]] double row_error(const SinkhornResult<T>& result, double epsilon) const {
    double error = 0;
    for (std::size_t i = 0; i < next_.size(); ++i) {
      if (a_.weights[i] == 0) continue;
      const double change = (static_cast<double>(result.f[i]) - next_[i]) / epsilon;
      error += a_.weights[i] * std::abs(std::expm1(std::min(change, 700.0)));
    }
    return error;
  }

  void converge(SinkhornResult<T>& result, double epsilon) {
    double step = 1;
    double before = std::numeric_limits<double>::infinity();
    while (true) {
      update_rows(result, epsilon);
      result.marginal_error = row_error(result, epsilon);
      if (result.iterations > 0 && step == 1 && result.marginal_error <= options_.tolerance) {
        result.converged = true;
        return;
      }
      if (result.iterations >= options_.max_iterations) return;
      // Over-relaxed steps leave the columns inexact too, so the last ones are plain; and where
      // they do not help they stop.
      const bool helps = result.iterations > 1 && result.marginal_error < before &&
                         result.marginal_error > 10 * options_.tolerance;
      step = helps ? options_.over_relaxation : 1;
      before = result.marginal_error;
      step_rows(result, step);
      step_columns(result, epsilon, step);
    }
  }

  void finish(SinkhornResult<T>& result, double epsilon) {
    for (std::size_t i = 0; i < result.f.size(); ++i)
      result.dual += static_cast<double>(a_.weights[i]) * result.f[i];
    for (std::size_t j = 0; j < result.g.size(); ++j)
      result.dual += static_cast<double>(b_.weights[j]) * result.g[j];
    result.primal = primal(result, epsilon);
    if (!std::isfinite(result.dual) || !std::isfinite(result.primal)) result.converged = false;
  }

  [[nodiscard]] double primal(const SinkhornResult<T>& result, double epsilon) const {
    std::vector<double> rows(cost_.rows);
    run(options_, cost_.rows, [&](std::size_t begin, std::size_t end) {
      std::vector<T> plan(cost_.columns);
      for (std::size_t i = begin; i < end; ++i) {
        const cpu::PlanInput<T> row{.cost = cost_.row(i),
                                    .leading = plan.size(),
                                    .columns = plan.size(),
                                    .f = &result.f[i],
                                    .a = &a_.weights[i],
                                    .g = result.g.data(),
                                    .b = b_.weights.data(),
                                    .epsilon = epsilon};
        cpu::plan_rows(row, {0, 1}, plan.data(), plan.size());
        const T* costs = cost_.row(i);
        double sum = 0;
        for (std::size_t j = 0; j < plan.size(); ++j)
          sum += static_cast<double>(plan[j]) * static_cast<double>(costs[j]);
        rows[i] = sum;
      }
    });
    return std::accumulate(rows.begin(), rows.end(), 0.0);
  }

  CostView<T> cost_;
  const SinkhornOptions& options_;
  Side<T> a_;
  Side<T> b_;
  std::vector<T> transposed_;
  std::vector<T> next_;     // f as its update would have it
  std::vector<T> columns_;  // g likewise, where steps are over-relaxed
  std::vector<T> h_;
};

}  // namespace

template <class T>
SinkhornResult<T> sinkhorn(const CostView<T>& cost, const Weights<T>& weights,
                           const SinkhornOptions& options, const Potentials<T>* start) {
  check(options);
  check(cost);
  return Solver<T>(cost, weights, options, transposed(cost)).solve(start);
}

template <class T>
SinkhornResult<T> sinkhorn_self(const CostView<T>& cost, std::span<const T> weights,
                                const SinkhornOptions& options) {
  check(options);
  check(cost);
  if (cost.rows != cost.columns)
    throw InvalidArgument(violation("the costs within one set", "a square matrix",
                                    fmt::format("{} x {}", cost.rows, cost.columns)));
  return Solver<T>(cost, {weights, weights}, options, {}).solve_self();
}

template <class T>
std::vector<T> column_potentials(const CostView<T>& cost, const Weights<T>& weights,
                                 std::span<const T> f, double regularization) {
  check(SinkhornOptions{.regularization = regularization});
  check(cost);
  const Side<T> a(weights.a, cost.rows, "a");
  if (f.size() != a.weights.size())
    throw InvalidArgument(violation("the number of potentials f",
                                    fmt::format("{}, as of rows", cost.rows), f.size()));
  std::vector<T> h(f.size());
  for (std::size_t i = 0; i < f.size(); ++i)
    h[i] = static_cast<T>(a.logs[i] + f[i] / regularization);
  const std::vector<T> columns = transposed(cost);
  std::vector<T> g(cost.columns);
  cpu::softmin<T>({.cost = columns.data(),
                   .leading = h.size(),
                   .columns = h.size(),
                   .h = h.data(),
                   .epsilon = regularization},
                  {0, g.size()}, g.data());
  return g;
}

template <class T>
void transport_plan(const CostView<T>& cost, const Weights<T>& weights,
                    const Potentials<T>& potentials, double regularization, T* plan) {
  const Side<T> a(weights.a, cost.rows, "a");
  const Side<T> b(weights.b, cost.columns, "b");
  const cpu::PlanInput<T> in{.cost = cost.values.data(),
                             .leading = cost.columns,
                             .columns = cost.columns,
                             .f = potentials.f.data(),
                             .a = a.weights.data(),
                             .g = potentials.g.data(),
                             .b = b.weights.data(),
                             .epsilon = regularization};
  cpu::plan_rows(in, {0, cost.rows}, plan, cost.columns);
}

template SinkhornResult<float> sinkhorn(const CostView<float>&, const Weights<float>&,
                                        const SinkhornOptions&, const Potentials<float>*);
template SinkhornResult<double> sinkhorn(const CostView<double>&, const Weights<double>&,
                                         const SinkhornOptions&, const Potentials<double>*);
template SinkhornResult<float> sinkhorn_self(const CostView<float>&, std::span<const float>,
                                             const SinkhornOptions&);
template SinkhornResult<double> sinkhorn_self(const CostView<double>&, std::span<const double>,
                                              const SinkhornOptions&);
template std::vector<float> column_potentials(const CostView<float>&, const Weights<float>&,
                                              std::span<const float>, double);
template std::vector<double> column_potentials(const CostView<double>&, const Weights<double>&,
                                               std::span<const double>, double);
template void transport_plan(const CostView<float>&, const Weights<float>&,
                             const Potentials<float>&, double, float*);
template void transport_plan(const CostView<double>&, const Weights<double>&,
                             const Potentials<double>&, double, double*);

}  // namespace obol::transport
