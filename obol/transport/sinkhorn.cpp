#include "obol/transport/sinkhorn.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string_view>
#include <tuple>
#include <type_traits>
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

// Returns the largest magnitude.
template <class T>
double check(const CostView<T>& cost) {
  if (cost.rows < 1 || cost.columns < 1)
    throw InvalidArgument(violation("a cost matrix", "of at least one row and column",
                                    fmt::format("{} x {}", cost.rows, cost.columns)));
  if (cost.values.size() != cost.rows * cost.columns)
    throw InvalidArgument(violation("the number of costs",
                                    fmt::format("{}, rows times columns", cost.rows * cost.columns),
                                    cost.values.size()));
  T largest = 0;
  for (std::size_t i = 0; i < cost.rows; ++i) {
    const T* row = cost.row(i);
    T sum = 0;
    for (std::size_t j = 0; j < cost.columns; ++j) {
      largest = std::max(largest, std::abs(row[j]));
      sum += std::abs(row[j]);
    }
    // A sum is finite only if all are, or nearly: look closer only then.
    if (std::isfinite(sum)) continue;
    for (std::size_t j = 0; j < cost.columns; ++j)
      if (!std::isfinite(row[j]))
        throw InvalidArgument(
            violation(fmt::format("cost[{}, {}]", i, j), "finite", static_cast<double>(row[j])));
  }
  return static_cast<double>(largest);
}

// One side's weights, normalised, and their logarithms.
struct Side {
  std::vector<double> weights;
  std::vector<double> logs;

  Side(std::span<const double> given, std::size_t size, std::string_view name) {
    if (given.empty()) {
      weights.assign(size, 1.0 / static_cast<double>(size));
      logs.assign(size, -std::log(static_cast<double>(size)));
      return;
    }
    if (given.size() != size)
      throw InvalidArgument(violation(fmt::format("the number of weights {}", name),
                                      fmt::format("{}, as of points", size), given.size()));
    for (std::size_t i = 0; i < size; ++i)
      if (!(given[i] >= 0) || !std::isfinite(given[i]))
        throw InvalidArgument(
            violation(fmt::format("{}[{}]", name, i), "finite and not negative", given[i]));
    const double sum = std::accumulate(given.begin(), given.end(), 0.0);
    constexpr double kRounding = 1e-3;
    if (std::abs(sum - 1) > kRounding)
      throw InvalidArgument(violation(fmt::format("the sum of the weights {}", name), "1", sum));
    for (const double weight : given) {
      weights.push_back(weight / sum);
      logs.push_back(std::log(weights.back()));
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

// Potentials of rows (or columns, for the transposed costs) from those of the others.
template <class T>
class Softmin {
 public:
  // out_i = -epsilon log sum_j exp(log b_j + (g_j - C_ij)/epsilon), computed in type Compute.
  template <class Compute>
  void run_in(const CostView<T>& cost, const Side& side, const std::vector<double>& potentials,
              const SinkhornOptions& options, double epsilon, std::vector<double>& out) {
    std::vector<Compute>& h = std::get<std::vector<Compute>>(h_);
    h.resize(cost.columns);
    for (std::size_t j = 0; j < h.size(); ++j)
      h[j] = static_cast<Compute>(side.logs[j] + potentials[j] / epsilon);
    const cpu::SoftminInput<Compute, T> in{.cost = cost.values.data(),
                                           .leading = cost.columns,
                                           .columns = cost.columns,
                                           .h = h.data(),
                                           .epsilon = epsilon};
    out.resize(cost.rows);
    if constexpr (std::is_same_v<Compute, double>) {
      run(options, out.size(), [&](std::size_t begin, std::size_t end) {
        cpu::softmin(in, {begin, end}, out.data());
      });
    } else {
      rows_.resize(cost.rows);
      run(options, out.size(), [&](std::size_t begin, std::size_t end) {
        cpu::softmin(in, {begin, end}, rows_.data());
      });
      std::copy(rows_.begin(), rows_.end(), out.begin());
    }
  }

 private:
  std::tuple<std::vector<float>, std::vector<double>> h_;
  std::vector<T> rows_;
};

template <class T>
class Solver {
 public:
  // `transposed_cost` may be empty for a problem of a measure with itself.
  Solver(const CostView<T>& cost, double largest_cost, const Weights& weights,
         const SinkhornOptions& options, std::vector<T> transposed_cost)
      : cost_(cost),
        largest_cost_(largest_cost),
        options_(options),
        a_(weights.a, cost.rows, "a"),
        b_(weights.b, cost.columns, "b"),
        transposed_(std::move(transposed_cost)),
        in_double_(sizeof(T) == sizeof(double) || options.regularization > kFlat * largest_cost) {}

  SinkhornResult solve(const Potentials* start) {
    SinkhornResult result;
    result.f.assign(cost_.rows, 0);
    result.g.assign(cost_.columns, 0);
    if (start != nullptr) take(*start, result);
    const double epsilon = options_.regularization;
    for_each_warmer([&](double warm) {
      if (result.iterations < options_.max_iterations) sweep(result, warm, 1);
    });
    if (options_.stopping == Stopping::kAnnealed) {
      in_double_ = true;
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

  SinkhornResult solve_self() {
    SinkhornResult result;
    result.f.assign(cost_.rows, 0);
    const auto average = [&](double epsilon) {
      update_self(result, epsilon);
      move(result.f, next_, 0.5);
      ++result.iterations;
    };
    for_each_warmer([&](double warm) {
      if (result.iterations < options_.max_iterations) average(warm);
    });
    const double epsilon = options_.regularization;
    if (options_.stopping == Stopping::kAnnealed) {
      in_double_ = true;
      average(epsilon);
    }
    while (true) {
      update_self(result, epsilon);
      result.marginal_error = row_error(result, epsilon);
      if (needs_more_digits(result)) continue;
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
        result.dual -= epsilon * a_.weights[i] * std::expm1((result.f[i] - next_[i]) / epsilon);
    return result;
  }

 private:
  // Regularizations of so many times the largest cost: exponentials are so near to 1 that float
  // leaves no digits of the costs in them.
  static constexpr double kFlat = 30;

  void take(const Potentials& start, SinkhornResult& result) const {
    if (start.f.size() != result.f.size() || start.g.size() != result.g.size())
      throw InvalidArgument(
          violation("the potentials to start from",
                    fmt::format("{} and {} long", result.f.size(), result.g.size()),
                    fmt::format("{} and {}", start.f.size(), start.g.size())));
    result.f = start.f;
    result.g = start.g;
  }

  // Regularizations from the largest cost down to, not including, the target.
  template <class Body>
  void for_each_warmer(const Body& body) const {
    const bool is_annealed = options_.stopping == Stopping::kAnnealed;
    const double ratio = is_annealed && options_.annealing == 1 ? 0.5 : options_.annealing;
    if (ratio == 1) return;
    for (double warm = largest_cost_; warm > options_.regularization; warm *= ratio) body(warm);
  }

  void softmin(const CostView<T>& cost, const Side& side, const std::vector<double>& potentials,
               double epsilon, std::vector<double>& out) {
    if (in_double_)
      softmin_.template run_in<double>(cost, side, potentials, options_, epsilon, out);
    else
      softmin_.template run_in<T>(cost, side, potentials, options_, epsilon, out);
  }

  void update_rows(const SinkhornResult& result, double epsilon) {
    softmin(cost_, b_, result.g, epsilon, next_);
  }
  void update_self(const SinkhornResult& result, double epsilon) {
    softmin(cost_, a_, result.f, epsilon, next_);
  }

  void sweep(SinkhornResult& result, double epsilon, double step) {
    update_rows(result, epsilon);
    move(result.f, next_, step);
    step_columns(result, epsilon, step);
  }

  void step_columns(SinkhornResult& result, double epsilon, double step) {
    const CostView<T> columns{transposed_, cost_.columns, cost_.rows};
    softmin(columns, a_, result.f, epsilon, step == 1 ? result.g : columns_);
    if (step != 1) move(result.g, columns_, step);
    ++result.iterations;
  }

  static void move(std::vector<double>& potentials, const std::vector<double>& to, double step) {
    if (step == 1) {
      potentials = to;
      return;
    }
    for (std::size_t i = 0; i < to.size(); ++i) potentials[i] += step * (to[i] - potentials[i]);
  }

  // After g was updated the columns are right, and row i has the mass a_i exp((f_i -
  // next_i)/epsilon).
  [[nodiscard]] double row_error(const SinkhornResult& result, double epsilon) const {
    double error = 0;
    for (std::size_t i = 0; i < next_.size(); ++i) {
      if (a_.weights[i] == 0) continue;
      const double change = (result.f[i] - next_[i]) / epsilon;
      error += a_.weights[i] * std::abs(std::expm1(std::min(change, 700.0)));
    }
    return error;
  }

  // Whether the error is down at what rounding in float makes of it; goes over to double if so.
  bool needs_more_digits(const SinkhornResult& result) {
    constexpr double kRoundings = 8;
    const double rounding = kRoundings * std::numeric_limits<float>::epsilon() *
                            (1 + largest_cost_ / options_.regularization);
    if (in_double_ || result.marginal_error > std::max(options_.tolerance, rounding)) return false;
    in_double_ = true;
    return true;
  }

  void converge(SinkhornResult& result, double epsilon) {
    double step = 1;
    double before = std::numeric_limits<double>::infinity();
    while (true) {
      update_rows(result, epsilon);
      result.marginal_error = row_error(result, epsilon);
      if (needs_more_digits(result)) continue;
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
      move(result.f, next_, step);
      step_columns(result, epsilon, step);
    }
  }

  void finish(SinkhornResult& result, double epsilon) {
    for (std::size_t i = 0; i < result.f.size(); ++i) result.dual += a_.weights[i] * result.f[i];
    for (std::size_t j = 0; j < result.g.size(); ++j) result.dual += b_.weights[j] * result.g[j];
    result.primal = primal(result, epsilon);
    if (!std::isfinite(result.dual) || !std::isfinite(result.primal)) result.converged = false;
  }

  [[nodiscard]] double primal(const SinkhornResult& result, double epsilon) const {
    std::vector<double> rows(cost_.rows);
    run(options_, cost_.rows, [&](std::size_t begin, std::size_t end) {
      std::vector<T> plan(cost_.columns);
      for (std::size_t i = begin; i < end; ++i) {
        const cpu::PlanInput<double, T> row{.cost = cost_.row(i),
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
  double largest_cost_;
  const SinkhornOptions& options_;
  Side a_;
  Side b_;
  std::vector<T> transposed_;
  bool in_double_;
  Softmin<T> softmin_;
  std::vector<double> next_;     // f as its update would have it
  std::vector<double> columns_;  // g likewise, where steps are over-relaxed
};

}  // namespace

template <class T>
SinkhornResult sinkhorn(const CostView<T>& cost, const Weights& weights,
                        const SinkhornOptions& options, const Potentials* start) {
  check(options);
  const double largest = check(cost);
  return Solver<T>(cost, largest, weights, options, transposed(cost)).solve(start);
}

template <class T>
SinkhornResult sinkhorn_self(const CostView<T>& cost, std::span<const double> weights,
                             const SinkhornOptions& options) {
  check(options);
  const double largest = check(cost);
  if (cost.rows != cost.columns)
    throw InvalidArgument(violation("the costs within one set", "a square matrix",
                                    fmt::format("{} x {}", cost.rows, cost.columns)));
  return Solver<T>(cost, largest, {weights, weights}, options, {}).solve_self();
}

template <class T>
std::vector<double> column_potentials(const CostView<T>& cost, const Weights& weights,
                                      std::span<const double> f, double regularization) {
  const SinkhornOptions options{.regularization = regularization};
  check(options);
  check(cost);
  const Side a(weights.a, cost.rows, "a");
  if (f.size() != a.weights.size())
    throw InvalidArgument(violation("the number of potentials f",
                                    fmt::format("{}, as of rows", cost.rows), f.size()));
  const std::vector<T> columns = transposed(cost);
  std::vector<double> g;
  Softmin<T>().template run_in<double>({columns, cost.columns, cost.rows}, a, {f.begin(), f.end()},
                                       options, regularization, g);
  return g;
}

template <class T>
void transport_plan(const CostView<T>& cost, const Weights& weights, const Potentials& potentials,
                    double regularization, T* plan) {
  const Side a(weights.a, cost.rows, "a");
  const Side b(weights.b, cost.columns, "b");
  if (potentials.f.size() != cost.rows || potentials.g.size() != cost.columns)
    throw InvalidArgument(violation(
        "the potentials of a plan", fmt::format("{} and {} long", cost.rows, cost.columns),
        fmt::format("{} and {}", potentials.f.size(), potentials.g.size())));
  cpu::plan_rows<double, T>({.cost = cost.values.data(),
                             .leading = cost.columns,
                             .columns = cost.columns,
                             .f = potentials.f.data(),
                             .a = a.weights.data(),
                             .g = potentials.g.data(),
                             .b = b.weights.data(),
                             .epsilon = regularization},
                            {0, cost.rows}, plan, cost.columns);
}

template SinkhornResult sinkhorn<float>(const CostView<float>&, const Weights&,
                                        const SinkhornOptions&, const Potentials*);
template SinkhornResult sinkhorn_self<float>(const CostView<float>&, std::span<const double>,
                                             const SinkhornOptions&);
template std::vector<double> column_potentials<float>(const CostView<float>&, const Weights&,
                                                      std::span<const double>, double);
template void transport_plan<float>(const CostView<float>&, const Weights&, const Potentials&,
                                    double, float*);

template SinkhornResult sinkhorn<double>(const CostView<double>&, const Weights&,
                                         const SinkhornOptions&, const Potentials*);
template SinkhornResult sinkhorn_self<double>(const CostView<double>&, std::span<const double>,
                                              const SinkhornOptions&);
template std::vector<double> column_potentials<double>(const CostView<double>&, const Weights&,
                                                       std::span<const double>, double);
template void transport_plan<double>(const CostView<double>&, const Weights&, const Potentials&,
                                     double, double*);

}  // namespace obol::transport
