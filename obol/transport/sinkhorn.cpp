#include "obol/transport/sinkhorn.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/transport/cpu/scaling.h"
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

void check_on_cpu(const SinkhornOptions& options) {
  check(options);
  if (options.stopping == Stopping::kFixed)
    throw InvalidArgument(violation("stopping on a CPU", "kConverge or kAnnealed", "kFixed"));
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
void transpose(const CostView<T>& cost, std::vector<T>& result) {
  constexpr std::size_t kBlock = 32;
  result.resize(cost.rows * cost.columns);
  for (std::size_t i0 = 0; i0 < cost.rows; i0 += kBlock)
    for (std::size_t j0 = 0; j0 < cost.columns; j0 += kBlock)
      for (std::size_t i = i0; i < std::min(i0 + kBlock, cost.rows); ++i)
        for (std::size_t j = j0; j < std::min(j0 + kBlock, cost.columns); ++j)
          result[j * cost.rows + i] = cost.values[i * cost.columns + j];
}

template <class T>
std::vector<T> transposed(const CostView<T>& cost) {
  std::vector<T> result;
  transpose(cost, result);
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

// Iterations as products with a kernel around given potentials. Rows are taken in chunks that
// depend on their number alone, so that the result does not depend on the number of threads.
template <class T>
class Scaling {
 public:
  // `kernel` has rows * columns elements, and is overwritten.
  Scaling(const CostView<T>& cost, const Side& a, const Side& b, const SinkhornOptions& options,
          std::vector<T>& kernel)
      : cost_(cost), a_(a), b_(b), options_(options), kernel_(kernel) {}

  // Goes on from the potentials of `result` until the error is at most `target`, the iterations are
  // used up, or rounding stands in the way. Potentials and iterations are then those reached.
  void run(SinkhornResult& result, double target) {
    rebuild(result);
    double before = std::numeric_limits<double>::infinity();
    std::int64_t stuck = 0;
    while (result.iterations < options_.max_iterations && stuck < kPatience) {
      const std::vector<double> u = u_;
      const std::vector<double> v = v_;
      const bool helps =
          before < std::numeric_limits<double>::infinity() && stuck == 0 && before > 10 * target;
      const double error = iterate(helps ? options_.over_relaxation : 1);
      if (!std::isfinite(error) || !are_fine()) {
        u_ = u;
        v_ = v;
        break;
      }
      ++result.iterations;
      if (error <= target) break;
      stuck = error < before ? 0 : stuck + 1;
      before = error;
      if (have_moved()) {
        absorb(result);
        rebuild(result);
      }
    }
    absorb(result);
  }

 private:
  // Iterations without progress after which sweeps, in double, may know better.
  static constexpr std::int64_t kPatience =
      sizeof(T) == 4 ? 20 : std::numeric_limits<std::int64_t>::max();
  // How far potentials may move, in units of the regularization, before the kernel is taken anew:
  // what it has lost below the smallest number must not come to matter.
  static constexpr double kReach = sizeof(T) == 4 ? 15 : 100;

  void rebuild(const SinkhornResult& result) {
    u_.assign(cost_.rows, 1);
    v_.assign(cost_.columns, 1);
    ones_.assign(cost_.rows, 1);
    const cpu::PlanInput<double, T> in{.cost = cost_.values.data(),
                                       .leading = cost_.columns,
                                       .columns = cost_.columns,
                                       .f = result.f.data(),
                                       .a = ones_.data(),
                                       .g = result.g.data(),
                                       .b = b_.weights.data(),
                                       .epsilon = options_.regularization};
    transport::run(options_, cost_.rows, [&](std::size_t begin, std::size_t end) {
      cpu::plan_rows(in, {begin, end}, kernel_.data(), cost_.columns);
    });
  }

  double iterate(double over_relaxation) {
    constexpr std::size_t kLeast = 64;
    constexpr std::size_t kMostChunks = 16;
    const std::size_t chunk = std::max(kLeast, (cost_.rows + kMostChunks - 1) / kMostChunks);
    const std::size_t chunks = (cost_.rows + chunk - 1) / chunk;
    narrow_.assign(v_.begin(), v_.end());
    totals_.assign(chunks * cost_.columns, 0);
    sums_.resize(chunks * cost_.columns);  // zeros, and left so
    std::vector<double> errors(chunks);
    const cpu::ScalingInput<T> in{.kernel = kernel_.data(),
                                  .columns = cost_.columns,
                                  .v = narrow_.data(),
                                  .a = a_.weights.data(),
                                  .over_relaxation = over_relaxation};
    transport::run(options_, chunks, [&](std::size_t begin, std::size_t end) {
      for (std::size_t c = begin; c < end; ++c)
        errors[c] =
            cpu::scale_rows(in, {c * chunk, std::min((c + 1) * chunk, cost_.rows)}, u_.data(),
                            sums_.data() + c * cost_.columns, totals_.data() + c * cost_.columns);
    });
    for (std::size_t j = 0; j < cost_.columns; ++j) {
      if (b_.weights[j] == 0) continue;
      double total = 0;
      for (std::size_t c = 0; c < chunks; ++c) total += totals_[c * cost_.columns + j];
      const double mass = total / b_.weights[j];
      v_[j] = over_relaxation == 1 ? 1 / mass : v_[j] * std::pow(v_[j] * mass, -over_relaxation);
    }
    return std::accumulate(errors.begin(), errors.end(), 0.0);
  }

  static bool within(const std::vector<double>& scalings, double reach) {
    const double most = std::exp(reach);
    return std::all_of(scalings.begin(), scalings.end(), [&](double s) {
      return s <= most && s >= 1 / most;  // and a number
    });
  }

  [[nodiscard]] bool are_fine() const { return within(u_, 2 * kReach) && within(v_, 2 * kReach); }
  [[nodiscard]] bool have_moved() const { return !within(u_, kReach) || !within(v_, kReach); }

  void absorb(SinkhornResult& result) const {
    for (std::size_t i = 0; i < u_.size(); ++i)
      result.f[i] += options_.regularization * std::log(u_[i]);
    for (std::size_t j = 0; j < v_.size(); ++j)
      result.g[j] += options_.regularization * std::log(v_[j]);
  }

  CostView<T> cost_;
  const Side& a_;
  const Side& b_;
  const SinkhornOptions& options_;
  std::vector<T>& kernel_;
  std::vector<double> u_;
  std::vector<double> v_;
  std::vector<double> ones_;
  std::vector<T> narrow_;
  std::vector<T> sums_;
  std::vector<double> totals_;
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
      if (result.iterations < options_.max_iterations) sweep(result, warm);
    });
    if (options_.stopping == Stopping::kAnnealed) {
      in_double_ = true;
      sweep(result, epsilon);
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
      average_with_next(result.f);
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
      average_with_next(result.f);
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
    if constexpr (sizeof(T) < sizeof(double)) {
      if (!in_double_) {
        softmin_.template run_in<T>(cost, side, potentials, options_, epsilon, out);
        return;
      }
    }
    softmin_.template run_in<double>(cost, side, potentials, options_, epsilon, out);
  }

  void update_rows(const SinkhornResult& result, double epsilon) {
    softmin(cost_, b_, result.g, epsilon, next_);
  }
  void update_self(const SinkhornResult& result, double epsilon) {
    softmin(cost_, a_, result.f, epsilon, next_);
  }

  void sweep(SinkhornResult& result, double epsilon) {
    update_rows(result, epsilon);
    take_rows_update_columns(result, epsilon);
  }

  void take_rows_update_columns(SinkhornResult& result, double epsilon) {
    result.f = next_;
    const CostView<T> columns{transposed_, cost_.columns, cost_.rows};
    softmin(columns, a_, result.f, epsilon, result.g);
    ++result.iterations;
  }

  void average_with_next(std::vector<double>& potentials) const {
    for (std::size_t i = 0; i < next_.size(); ++i) potentials[i] = (potentials[i] + next_[i]) / 2;
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
    std::int64_t sweeps = 0;
    std::int64_t sweeps_until_products = 2;
    while (true) {
      update_rows(result, epsilon);
      result.marginal_error = row_error(result, epsilon);
      if (needs_more_digits(result)) continue;
      if (result.iterations > 0 && result.marginal_error <= options_.tolerance) {
        result.converged = true;
        return;
      }
      if (result.iterations >= options_.max_iterations) return;
      take_rows_update_columns(result, epsilon);
      if (++sweeps < sweeps_until_products) continue;
      // Potentials now fit each other, and products can go on from there; or, where they find that
      // they cannot, sweeps do for longer.
      sweeps = 0;
      if (!go_on_by_products(result)) sweeps_until_products *= 2;
    }
  }

  // Whether it was worth it.
  bool go_on_by_products(SinkhornResult& result) {
    constexpr double kMargin = 0.5;  // what is left for rounding
    constexpr std::int64_t kWorthIt = 8;
    const std::int64_t before = result.iterations;
    Scaling<T>(cost_, a_, b_, options_, transposed_).run(result, kMargin * options_.tolerance);
    transpose(cost_, transposed_);
    in_double_ = true;  // what is left is small
    return result.iterations - before >= kWorthIt;
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
  std::vector<double> next_;  // f as its update would have it
};

}  // namespace

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
SinkhornResult sinkhorn(const CostView<T>& cost, const Weights& weights,
                        const SinkhornOptions& options, const Potentials* start) {
  check_on_cpu(options);
  const double largest = check(cost);
  return Solver<T>(cost, largest, weights, options, transposed(cost)).solve(start);
}

template <class T>
SinkhornResult sinkhorn_self(const CostView<T>& cost, std::span<const double> weights,
                             const SinkhornOptions& options) {
  check_on_cpu(options);
  const double largest = check(cost);
  if (cost.rows != cost.columns)
    throw InvalidArgument(violation("the costs within one set", "a square matrix",
                                    fmt::format("{} x {}", cost.rows, cost.columns)));
  return Solver<T>(cost, largest, {weights, weights}, options, {}).solve_self();
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
template void transport_plan<float>(const CostView<float>&, const Weights&, const Potentials&,
                                    double, float*);

template SinkhornResult sinkhorn<double>(const CostView<double>&, const Weights&,
                                         const SinkhornOptions&, const Potentials*);
template SinkhornResult sinkhorn_self<double>(const CostView<double>&, std::span<const double>,
                                              const SinkhornOptions&);
template void transport_plan<double>(const CostView<double>&, const Weights&, const Potentials&,
                                     double, double*);

}  // namespace obol::transport
