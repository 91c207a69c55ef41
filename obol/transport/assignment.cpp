#include "obol/transport/assignment.h"

#include <algorithm>
#include <array>

#include "obol/base/interrupt.h"
#include "obol/transport/row_scan.h"

namespace obol::transport {
namespace {

constexpr std::int64_t kFree = -1;

// Where a shortest path tree stands: distances of the columns that are still open, and the row that
// each was reached from. A closed column has an infinite distance and minus infinity for its
// potential, so that no loop needs to ask.
struct Frontier {
  std::vector<double> distance;
  std::vector<std::int64_t> from;
  std::vector<double> open_g;
};

// Lowers distances by the paths that go on from one row, and gives the least of all.
template <class Scalar>
double relax(const Scalar* cost, std::int64_t row, double offset, Frontier& frontier) {
  const std::size_t count = frontier.distance.size();
  double* distance = frontier.distance.data();
  std::int64_t* from = frontier.from.data();
  const double* g = frontier.open_g.data();
  std::array<double, kLanes> lanes;
  lanes.fill(kInfinity);
  std::size_t j = 0;
  for (; j + kLanes <= count; j += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double through = (static_cast<double>(cost[j + l]) - g[j + l]) + offset;
      const bool shorter = through < distance[j + l];
      from[j + l] = shorter ? row : from[j + l];
      distance[j + l] = shorter ? through : distance[j + l];
      lanes[l] = distance[j + l] < lanes[l] ? distance[j + l] : lanes[l];
    }
  }
  for (; j < count; ++j) {
    const double through = (static_cast<double>(cost[j]) - g[j]) + offset;
    if (through < distance[j]) {
      distance[j] = through;
      from[j] = row;
    }
    lanes[0] = std::min(lanes[0], distance[j]);
  }
  return min_of(lanes);
}

template <class Scalar>
class AssignmentSolver {
 public:
  explicit AssignmentSolver(const CostView<Scalar>& cost)
      : cost_(cost),
        size_(cost.rows),
        g_(size_, kInfinity),
        column_of_(size_, kFree),
        row_of_(size_, kFree),
        frontier_{std::vector<double>(size_), std::vector<std::int64_t>(size_), {}} {}

  Assignment solve() {
    reduce_columns();
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < size_; ++i) {
      if (column_of_[i] == kFree) free.push_back(i);
    }
    for (int pass = 0; pass < kPasses; ++pass) free = reduce_rows(free);
    for (std::size_t j = 0; j < size_; ++j) {
      if (row_of_[j] == kFree) free_columns_.push_back(j);
    }
    for (const std::size_t row : free) augment(row);
    return {.column_of = {column_of_.begin(), column_of_.end()},
            .g = std::move(g_),
            .paths = static_cast<std::int64_t>(free.size())};
  }

 private:
  static constexpr int kPasses = 2;
  static constexpr std::size_t kTurns = 4;  // for each row and pass

  void match(std::size_t row, std::size_t column) {
    column_of_[row] = static_cast<std::int64_t>(column);
    row_of_[column] = static_cast<std::int64_t>(row);
  }

  // Every column takes its least cost as its potential, and the row of that if it is free.
  void reduce_columns() {
    for (std::size_t i = 0; i < size_; ++i) {
      const Scalar* row = cost_.row(i);
      for (std::size_t j = 0; j < size_; ++j) g_[j] = std::min(g_[j], static_cast<double>(row[j]));
    }
    for (std::size_t i = 0; i < size_; ++i) {
      const Scalar* row = cost_.row(i);
      for (std::size_t j = 0; j < size_; ++j) {
        if (static_cast<double>(row[j]) == g_[j] && row_of_[j] == kFree) {
          match(i, j);
          break;
        }
      }
    }
  }

  struct Bid {
    std::size_t column;  // the best for a row, or one that ties with it and is free
    bool wins;           // whether its owner, if any, has to give way
  };

  // Makes the column that is cheapest for a row dearer, up to its next best choice.
  Bid bid(std::size_t row) {
    const Scalar* cost = cost_.row(row);
    const double least = min_reduced(cost, g_.data(), size_);
    const std::size_t best = find_reduced(cost, g_.data(), size_, least);
    const double price = g_[best];
    g_[best] = -kInfinity;
    const double second = min_reduced(cost, g_.data(), size_);
    const std::size_t other = find_reduced(cost, g_.data(), size_, second);
    g_[best] = price;
    if (least < second) {
      if (second < kInfinity) g_[best] = price - (second - least);
      return {best, true};
    }
    return {row_of_[best] == kFree ? best : other, false};
  }

  // Free rows bid for columns in turn, and so does whoever loses his. Returns those still free.
  // Rounding can make such a chain creep, so that turns are bounded.
  std::vector<std::size_t> reduce_rows(const std::vector<std::size_t>& free) {
    std::vector<std::size_t> left;
    std::size_t turns = kTurns * size_;
    for (const std::size_t first : free) {
      for (auto row = static_cast<std::int64_t>(first); row != kFree;) {
        const auto bidder = static_cast<std::size_t>(row);
        // Not after the bid: a column that is dearer must not stay with its owner.
        if (turns == 0) {
          left.push_back(bidder);
          break;
        }
        --turns;
        const auto [column, wins] = bid(bidder);
        const std::int64_t owner = row_of_[column];
        if (owner != kFree && !wins) {
          left.push_back(bidder);
          break;
        }
        match(bidder, column);
        if (owner != kFree) column_of_[static_cast<std::size_t>(owner)] = kFree;
        row = owner;
      }
    }
    return left;
  }

  // A shortest path in reduced costs from a free row to a free column (Dijkstra), along which the
  // assignment is turned over.
  void augment(std::size_t root) {
    check_interrupt();
    std::fill(frontier_.distance.begin(), frontier_.distance.end(), kInfinity);
    frontier_.open_g = g_;
    closed_.clear();
    double least = relax(cost_.row(root), static_cast<std::int64_t>(root), 0.0, frontier_);
    std::size_t end = 0;
    while ((end = free_column_at(least)) == free_columns_.size()) {
      const auto place = std::find(frontier_.distance.begin(), frontier_.distance.end(), least);
      const auto column = static_cast<std::size_t>(place - frontier_.distance.begin());
      closed_.push_back({column, least});
      *place = kInfinity;
      frontier_.open_g[column] = -kInfinity;
      const auto row = static_cast<std::size_t>(row_of_[column]);
      least = relax(cost_.row(row), row_of_[column], least - (cost_.at(row, column) - g_[column]),
                    frontier_);
    }
    std::size_t column = free_columns_[end];
    free_columns_[end] = free_columns_.back();
    free_columns_.pop_back();
    for (const auto& [closed, distance] : closed_) g_[closed] += distance - least;
    for (;;) {
      const auto row = static_cast<std::size_t>(frontier_.from[column]);
      const std::int64_t next = column_of_[row];
      match(row, column);
      if (row == root) return;
      column = static_cast<std::size_t>(next);
    }
  }

  // Looked at before any other column at the same distance: with ties, most of a search would be
  // among columns at distance zero.
  [[nodiscard]] std::size_t free_column_at(double distance) const {
    const auto found =
        std::find_if(free_columns_.begin(), free_columns_.end(),
                     [&](std::size_t column) { return frontier_.distance[column] == distance; });
    return static_cast<std::size_t>(found - free_columns_.begin());
  }

  struct Closed {
    std::size_t column;
    double distance;
  };

  CostView<Scalar> cost_;
  std::size_t size_;
  std::vector<double> g_;
  std::vector<std::int64_t> column_of_;
  std::vector<std::int64_t> row_of_;
  Frontier frontier_;
  std::vector<Closed> closed_;
  std::vector<std::size_t> free_columns_;
};

}  // namespace

template <class Scalar>
Assignment assign(const CostView<Scalar>& cost) {
  return AssignmentSolver<Scalar>(cost).solve();
}

template Assignment assign(const CostView<float>&);
template Assignment assign(const CostView<double>&);

}  // namespace obol::transport
