// The basis of the network simplex: a spanning tree over rows and columns that have mass, hung from
// one column.
//
// Node i is row i, node rows + j is column j. The entry of the plan that ties a node to its parent
// is kept with the node: its flow and its cost. Flows run from rows to columns, so that the flow of
// a row runs up to its parent and that of a column comes down from there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace obol::transport {

using Node = std::int32_t;
inline constexpr Node kNoNode = -1;

class SpanningTree {
 public:
  SpanningTree(std::size_t rows, std::size_t columns);

  [[nodiscard]] bool is_row(Node node) const { return node < rows_; }
  [[nodiscard]] Node column_node(std::size_t column) const {
    return rows_ + static_cast<Node>(column);
  }
  [[nodiscard]] std::size_t column_of(Node node) const {
    return static_cast<std::size_t>(node - rows_);
  }

  // While the first tree is built: from the leaves to the root, then once.
  void hang(Node node, Node parent, std::int64_t flow, double cost);
  void finish(Node root);

  // Lets the entry (row, column) in and the one that blocks it out.
  void pivot(Node row, Node column, double cost);

  [[nodiscard]] std::size_t size() const { return at_.size(); }
  [[nodiscard]] Node parent(Node node) const { return at(node).parent; }
  [[nodiscard]] std::int64_t flow(Node node) const { return at(node).flow; }
  // Potentials of all nodes, those of the columns from column_node(0); the sum over both ends of an
  // entry of the tree is its cost. -infinity outside the tree.
  [[nodiscard]] const double* potentials() const { return potential_.data(); }
  [[nodiscard]] double potential(Node node) const {
    return potential_[static_cast<std::size_t>(node)];
  }
  // How far rounding may have moved the potential from what the costs along the tree give.
  [[nodiscard]] double rounding(Node node) const { return at(node).rounding; }

  // Whether a positive amount can be sent from every node to the root.
  [[nodiscard]] bool strongly_feasible() const;

 private:
  struct Place {
    Node parent = kNoNode;
    Node first_child = kNoNode;
    Node next = kNoNode;      // among the children of the parent
    Node previous = kNoNode;  // likewise
    std::int32_t depth = 0;
    std::int64_t flow = 0;
    double cost = 0;
    double rounding = 0;
  };

  // The entry at which the cycle is cut, named by its lower node.
  struct Cut {
    Node node = kNoNode;
    std::int64_t flow = 0;
    bool on_row_side = false;
  };

  [[nodiscard]] Place& at(Node node) { return at_[static_cast<std::size_t>(node)]; }
  [[nodiscard]] const Place& at(Node node) const { return at_[static_cast<std::size_t>(node)]; }

  [[nodiscard]] Node join(Node a, Node b) const;
  [[nodiscard]] Cut blocking(Node row, Node column, Node top) const;
  void push(Node from, Node top, std::int64_t row_change);
  void rehang(Node node, Node parent, std::int64_t flow, double cost, Node last);
  void detach(Node node);
  void attach(Node node, Node parent);
  void refresh(Node node);
  void refresh_below(Node top);

  Node rows_;
  std::vector<Place> at_;
  std::vector<double> potential_;
};

}  // namespace obol::transport
