#include "obol/transport/network_simplex.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "obol/base/interrupt.h"
#include "obol/transport/row_scan.h"
#include "obol/transport/spanning_tree.h"

namespace obol::transport {
namespace {

// The least cost of each column, to be taken off; -infinity, which keeps a column out of every
// search, where it has no mass.
template <class Scalar>
std::vector<double> least_costs(const CostView<Scalar>& cost, const Masses& masses) {
  std::vector<double> least(cost.columns, kInfinity);
  for (std::size_t i = 0; i < cost.rows; ++i) {
    const Scalar* row = cost.row(i);
    for (std::size_t j = 0; j < cost.columns; ++j) {
      least[j] = std::min(least[j], static_cast<double>(row[j]));
    }
  }
  for (std::size_t j = 0; j < cost.columns; ++j) {
    if (masses.columns[j] == 0) least[j] = -kInfinity;
  }
  return least;
}

// Every row in turn is sent to the columns that are cheapest for it among those not yet full; what
// is left goes to the heaviest, the root. Potentials are most exact near the root, and there they
// count most.
//
// Where supply and demand tie, the column closes and the row goes on with nothing to send: that
// leaves an empty entry above a row, never above a column, as a strongly feasible tree wants it.
template <class Scalar>
SpanningTree first_tree(const CostView<Scalar>& cost, const Masses& masses) {
  SpanningTree tree(cost.rows, cost.columns);
  std::vector<std::int64_t> demand = masses.columns;
  const auto root =
      static_cast<std::size_t>(std::max_element(demand.begin(), demand.end()) - demand.begin());
  std::vector<double> least = least_costs(cost, masses);
  least[root] = -kInfinity;
  auto open = std::count_if(least.begin(), least.end(), [](double g) { return g > -kInfinity; });
  for (std::size_t i = 0; i < cost.rows; ++i) {
    if (masses.rows[i] == 0) continue;
    const auto row = static_cast<Node>(i);
    std::int64_t supply = masses.rows[i];
    std::size_t target = root;
    for (; open > 0; --open) {
      const double reduced = min_reduced(cost.row(i), least.data(), cost.columns);
      const std::size_t j = find_reduced(cost.row(i), least.data(), cost.columns, reduced);
      if (supply < demand[j]) {
        target = j;
        break;
      }
      tree.hang(tree.column_node(j), row, demand[j], cost.at(i, j));
      supply -= demand[j];
      least[j] = -kInfinity;
    }
    tree.hang(row, tree.column_node(target), supply, cost.at(i, target));
    demand[target] -= supply;
  }
  tree.finish(tree.column_node(root));
  return tree;
}

struct Entering {
  std::size_t row = 0;
  std::size_t column = 0;
  double reduced = 0;  // 0: there is none
};

// Looks for an entry with negative reduced cost, some rows at a time and round and round.
template <class Scalar>
class Pricing {
 public:
  Pricing(const CostView<Scalar>& cost, const Masses& masses, const SpanningTree& tree)
      : cost_(cost),
        tree_(tree),
        g_(tree.potentials() + cost.rows),
        block_(cost.rows + cost.columns) {
    for (std::size_t i = 0; i < cost.rows; ++i) {
      if (masses.rows[i] > 0) rows_.push_back(i);
    }
  }

  // The most negative one of the first block of rows that has any.
  Entering next() {
    Entering best;
    std::size_t scanned = 0;
    for (std::size_t count = 0; count < rows_.size(); ++count) {
      consider(rows_[position_], best);
      position_ = position_ + 1 == rows_.size() ? 0 : position_ + 1;
      scanned += cost_.columns;
      if (scanned >= block_) {
        if (best.reduced < 0) return best;
        scanned = 0;
      }
    }
    return best;
  }

 private:
  void consider(std::size_t i, Entering& best) const {
    const double f = tree_.potential(static_cast<Node>(i));
    const double rounding = tree_.rounding(static_cast<Node>(i));
    const double least = min_reduced(cost_.row(i), g_, cost_.columns);
    if (least - f >= std::min(best.reduced, -rounding)) return;
    const std::size_t j = find_reduced(cost_.row(i), g_, cost_.columns, least);
    if (is_negative(i, j, least - f)) {
      best = {i, j, least - f};
      return;
    }
    // The least may be rounding where a greater one is not, if costs differ much in size.
    for (std::size_t k = 0; k < cost_.columns; ++k) {
      const double reduced = cost_.at(i, k) - g_[k] - f;
      if (reduced < best.reduced && is_negative(i, k, reduced)) best = {i, k, reduced};
    }
  }

  [[nodiscard]] bool is_negative(std::size_t i, std::size_t j, double reduced) const {
    const auto row = static_cast<Node>(i);
    const Node column = tree_.column_node(j);
    const double last = std::abs(tree_.potential(row)) + std::abs(cost_.at(i, j));
    return reduced < -(tree_.rounding(row) + tree_.rounding(column) +
                       last * std::numeric_limits<double>::epsilon());
  }

  CostView<Scalar> cost_;
  const SpanningTree& tree_;
  const double* g_;
  std::size_t block_;              // in entries: about what a pivot costs; the optimum is flat
  std::vector<std::size_t> rows_;  // those with mass
  std::size_t position_ = 0;
};

TreeSolution solution_of(const SpanningTree& tree, const Masses& masses) {
  TreeSolution solution;
  const std::size_t rows = masses.rows.size();
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const auto node = static_cast<Node>(i);
    if (tree.flow(node) == 0) continue;
    const Node row = tree.is_row(node) ? node : tree.parent(node);
    const Node column = tree.is_row(node) ? tree.parent(node) : node;
    solution.plan.push_back(
        {static_cast<std::size_t>(row), tree.column_of(column), masses.mass(tree.flow(node))});
  }
  std::sort(solution.plan.begin(), solution.plan.end(), [](const auto& x, const auto& y) {
    return x.row != y.row ? x.row < y.row : x.column < y.column;
  });
  const double* potentials = tree.potentials();
  solution.f.assign(potentials, potentials + rows);
  solution.g.assign(potentials + rows, potentials + tree.size());
  return solution;
}

}  // namespace

template <class Scalar>
TreeSolution network_simplex(const CostView<Scalar>& cost, const Masses& masses,
                             std::int64_t max_pivots) {
  SpanningTree tree = first_tree(cost, masses);
  assert(tree.strongly_feasible());
  Pricing<Scalar> pricing(cost, masses, tree);
  std::int64_t pivots = 0;
  bool optimal = false;
  for (;; ++pivots) {
    const Entering entering = pricing.next();
    optimal = entering.reduced == 0;
    if (optimal || (max_pivots > 0 && pivots == max_pivots)) break;
    check_interrupt();
    tree.pivot(static_cast<Node>(entering.row), tree.column_node(entering.column),
               cost.at(entering.row, entering.column));
  }
  assert(tree.strongly_feasible());
  TreeSolution solution = solution_of(tree, masses);
  solution.pivots = pivots;
  solution.optimal = optimal;
  return solution;
}

template TreeSolution network_simplex(const CostView<float>&, const Masses&, std::int64_t);
template TreeSolution network_simplex(const CostView<double>&, const Masses&, std::int64_t);

}  // namespace obol::transport
