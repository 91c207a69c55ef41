#include "obol/transport/exact.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/transport/assignment.h"
#include "obol/transport/masses.h"
#include "obol/transport/network_simplex.h"
#include "obol/transport/row_scan.h"

namespace obol::transport {
namespace {

// Leaves room for sums along the tree.
constexpr double kLargestCost = 1e290;
constexpr double kGapTolerance = 1e-9;

template <class Scalar>
bool in_range(Scalar cost) {
  return std::abs(static_cast<double>(cost)) <= kLargestCost;
}

// Empty sides are left to balance(), which names them.
template <class Scalar>
void check_shape(const CostView<Scalar>& cost) {
  if (cost.rows == 0 || cost.columns == 0) return;
  // By division, because the product of two false numbers may overflow into the right one.
  const std::size_t count = cost.values.size();
  if (count % cost.columns != 0 || count / cost.columns != cost.rows) {
    throw InvalidArgument(
        violation("the number of costs", fmt::format("{} x {}", cost.rows, cost.columns), count));
  }
  constexpr auto kMostNodes = static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  if (cost.rows + cost.columns > kMostNodes) {
    throw InvalidArgument(violation("the number of rows and columns together",
                                    fmt::format("at most {}", kMostNodes),
                                    cost.rows + cost.columns));
  }
}

template <class Scalar>
void check_costs(const CostView<Scalar>& cost) {
  for (std::size_t i = 0; i < cost.rows; ++i) {
    const Scalar* row = cost.row(i);
    // Counting without a way out lets the loop be vectorised; the place is looked for afterwards.
    std::int64_t good = 0;
    for (std::size_t j = 0; j < cost.columns; ++j) good += in_range(row[j]) ? 1 : 0;
    if (good == static_cast<std::int64_t>(cost.columns)) continue;
    const Scalar* bad = std::find_if_not(row, row + cost.columns, in_range<Scalar>);
    throw InvalidArgument(violation(fmt::format("cost[{}, {}]", i, bad - row),
                                    fmt::format("finite and at most {} in size", kLargestCost),
                                    *bad));
  }
}

// Potentials of columns without mass, as large as those of the rows with mass allow.
template <class Scalar>
void complete_columns(const CostView<Scalar>& cost, const Masses& masses, ExactResult& result) {
  std::vector<std::size_t> missing;
  for (std::size_t j = 0; j < cost.columns; ++j) {
    if (masses.columns[j] == 0) missing.push_back(j);
  }
  for (const std::size_t j : missing) result.g[j] = kInfinity;
  for (std::size_t i = 0; i < cost.rows; ++i) {
    if (masses.rows[i] == 0) continue;
    for (const std::size_t j : missing) {
      result.g[j] = std::min(result.g[j], cost.at(i, j) - result.f[i]);
    }
  }
}

// The bound holds for potentials that respect every cost, and the solvers' do so up to rounding.
// What is left over is taken from the lighter side, where it costs the bound least: beside a light
// column that is far away, a heavy row keeps its precision.
template <class Scalar>
void make_feasible(const CostView<Scalar>& cost, const Masses& masses, ExactResult& result) {
  for (std::size_t i = 0; i < cost.rows; ++i) {
    const double largest = min_reduced(cost.row(i), result.g.data(), cost.columns);
    double& f = result.f[i];
    if (masses.rows[i] == 0) f = largest;
    if (f <= largest) continue;
    for (std::size_t j = 0; j < cost.columns; ++j) {
      const double excess = f - (cost.at(i, j) - result.g[j]);
      if (excess > 0) (masses.rows[i] < masses.columns[j] ? f : result.g[j]) -= excess;
    }
  }
}

template <class Scalar>
double least_nonzero(const Scalar* row, std::size_t count) {
  double least = kInfinity;
  for (std::size_t j = 0; j < count; ++j) {
    const double size = std::abs(static_cast<double>(row[j]));
    least = size > 0 && size < least ? size : least;
  }
  return least < kInfinity ? least : 0;
}

// A gap is small beside the costs of the plan. Those may all be zero; then beside the costs next to
// them. The largest cost would not do as a measure: often it only stands for "never".
template <class Scalar>
void certify(const CostView<Scalar>& cost, const Masses& masses, bool finished,
             ExactResult& result) {
  long double value = 0;
  long double size = 0;
  for (const auto& [row, column, mass] : result.plan) {
    const long double share = static_cast<long double>(mass) * cost.at(row, column);
    value += share;
    size += std::abs(share);
  }
  long double bound = 0;
  const auto share = [&](std::int64_t units, double potential) {
    return units == 0 ? 0 : masses.unit * static_cast<long double>(units) * potential;
  };
  for (std::size_t i = 0; i < cost.rows; ++i) {
    bound += share(masses.rows[i], result.f[i]);
    size += share(masses.rows[i], least_nonzero(cost.row(i), cost.columns));
  }
  for (std::size_t j = 0; j < cost.columns; ++j) bound += share(masses.columns[j], result.g[j]);
  result.value = static_cast<double>(value);
  result.gap = static_cast<double>(value - bound);
  result.converged = finished && std::abs(value - bound) <= kGapTolerance * size;
}

template <class Scalar>
ExactResult solve(const CostView<Scalar>& cost, std::span<const double> a,
                  std::span<const double> b, const ExactOptions& options) {
  check_shape(cost);
  const Masses masses = balance(a, cost.rows, b, cost.columns);
  check_costs(cost);
  ExactResult result;
  bool finished = true;
  if (masses.uniform && cost.rows == cost.columns && options.solver == ExactSolver::kAutomatic) {
    Assignment assignment = assign(cost);
    result.g = std::move(assignment.g);
    for (std::size_t i = 0; i < cost.rows; ++i) {
      const std::size_t j = assignment.column_of[i];
      result.plan.push_back({i, j, masses.mass(1)});
      result.f.push_back(cost.at(i, j) - result.g[j]);
    }
    result.iterations = assignment.paths;
  } else {
    TreeSolution solution = network_simplex(cost, masses, options.max_pivots);
    result.plan = std::move(solution.plan);
    result.f = std::move(solution.f);
    result.g = std::move(solution.g);
    result.iterations = solution.pivots;
    finished = solution.optimal;
    complete_columns(cost, masses, result);
  }
  make_feasible(cost, masses, result);
  certify(cost, masses, finished, result);
  return result;
}

}  // namespace

ExactResult exact_transport(const CostView<float>& cost, std::span<const double> a,
                            std::span<const double> b, const ExactOptions& options) {
  return solve(cost, a, b, options);
}

ExactResult exact_transport(const CostView<double>& cost, std::span<const double> a,
                            std::span<const double> b, const ExactOptions& options) {
  return solve(cost, a, b, options);
}

}  // namespace obol::transport
