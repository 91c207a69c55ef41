#include "obol/transport/spanning_tree.h"

#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace obol::transport {
namespace {

constexpr std::size_t kRows = 7;
constexpr std::size_t kColumns = 5;
using Random = std::mt19937_64;

double cost_of(std::size_t i, std::size_t j) {
  return static_cast<double>((i * 31 + j * 17) % 23) - 11;
}

// All rows hang from the last column, all other columns from the first row, which has enough.
SpanningTree star() {
  SpanningTree tree(kRows, kColumns);
  const Node root = tree.column_node(kColumns - 1);
  for (std::size_t i = 0; i < kRows; ++i) {
    tree.hang(static_cast<Node>(i), root, i == 1 ? 0 : 2, cost_of(i, kColumns - 1));
  }
  for (std::size_t j = 0; j + 1 < kColumns; ++j)
    tree.hang(tree.column_node(j), 0, 3, cost_of(0, j));
  tree.finish(root);
  return tree;
}

std::vector<std::int64_t> sums(const SpanningTree& tree) {
  std::vector<std::int64_t> result(tree.size());
  for (Node node = 0; node < static_cast<Node>(tree.size()); ++node) {
    if (tree.parent(node) == kNoNode) continue;
    result[static_cast<std::size_t>(node)] += tree.flow(node);
    result[static_cast<std::size_t>(tree.parent(node))] += tree.flow(node);
  }
  return result;
}

void expect_tight(const SpanningTree& tree) {
  for (Node node = 0; node < static_cast<Node>(tree.size()); ++node) {
    const Node parent = tree.parent(node);
    if (parent == kNoNode) continue;
    ASSERT_NE(tree.is_row(node), tree.is_row(parent));
    const Node row = tree.is_row(node) ? node : parent;
    const Node column = tree.is_row(node) ? parent : node;
    EXPECT_EQ(tree.potential(row) + tree.potential(column),
              cost_of(static_cast<std::size_t>(row), tree.column_of(column)));
  }
}

TEST(SpanningTree, KeepsSumsPotentialsAndStrongFeasibilityThroughPivots) {
  SpanningTree tree = star();
  ASSERT_TRUE(tree.strongly_feasible());
  const auto expected = sums(tree);
  Random random(1);
  for (int pivot = 0; pivot < 2000; ++pivot) {
    const auto row = static_cast<Node>(random() % kRows);
    const Node column = tree.column_node(random() % kColumns);
    if (tree.parent(row) == column || tree.parent(column) == row) continue;
    tree.pivot(row, column, cost_of(static_cast<std::size_t>(row), tree.column_of(column)));
    ASSERT_TRUE(tree.strongly_feasible());
    ASSERT_EQ(sums(tree), expected);
    expect_tight(tree);
  }
}

TEST(SpanningTree, LeavesNodesOutsideAtMinusInfinity) {
  SpanningTree tree(2, 2);
  tree.hang(0, tree.column_node(1), 5, 1.5);
  tree.finish(tree.column_node(1));
  EXPECT_EQ(tree.potential(0), 1.5);
  EXPECT_EQ(tree.potential(tree.column_node(1)), 0);
  EXPECT_EQ(tree.potential(1), -HUGE_VAL);
  EXPECT_EQ(tree.potential(tree.column_node(0)), -HUGE_VAL);
}

}  // namespace
}  // namespace obol::transport
