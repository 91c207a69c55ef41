#include "obol/transport/spanning_tree.h"

#include <cmath>
#include <limits>

namespace obol::transport {

SpanningTree::SpanningTree(std::size_t rows, std::size_t columns)
    : rows_(static_cast<Node>(rows)),
      at_(rows + columns),
      potential_(rows + columns, -std::numeric_limits<double>::infinity()) {}

void SpanningTree::hang(Node node, Node parent, std::int64_t flow, double cost) {
  at(node).flow = flow;
  at(node).cost = cost;
  attach(node, parent);
}

void SpanningTree::finish(Node root) {
  potential_[static_cast<std::size_t>(root)] = 0;
  for (Node child = at(root).first_child; child != kNoNode; child = at(child).next) {
    refresh_below(child);
  }
}

void SpanningTree::pivot(Node row, Node column, double cost) {
  const Node top = join(row, column);
  const Cut cut = blocking(row, column, top);
  if (cut.flow > 0) {
    push(row, top, -cut.flow);
    push(column, top, cut.flow);
  }
  // The part that the cut severs from the root hangs from the other end of the new entry.
  const Node lower = cut.on_row_side ? row : column;
  rehang(lower, cut.on_row_side ? column : row, cut.flow, cost, cut.node);
  refresh_below(lower);
}

bool SpanningTree::strongly_feasible() const {
  for (std::size_t i = 0; i < at_.size(); ++i) {
    const auto node = static_cast<Node>(i);
    if (parent(node) == kNoNode) continue;
    if (flow(node) < 0 || (flow(node) == 0 && !is_row(node))) return false;
  }
  return true;
}

Node SpanningTree::join(Node a, Node b) const {
  while (a != b) {
    if (at(a).depth >= at(b).depth) {
      a = at(a).parent;
    } else {
      b = at(b).parent;
    }
  }
  return a;
}

// Flow sent through the new entry comes back from the column up to the join and down to the row: it
// takes from the rows on the row's side and from the columns on the other. Of the entries that run
// empty first, the last one met on that round, from the join on, keeps the tree strongly feasible.
SpanningTree::Cut SpanningTree::blocking(Node row, Node column, Node top) const {
  Cut cut{.node = kNoNode, .flow = std::numeric_limits<std::int64_t>::max()};
  for (Node node = row; node != top; node = at(node).parent) {
    if (is_row(node) && at(node).flow < cut.flow) cut = {node, at(node).flow, true};
  }
  for (Node node = column; node != top; node = at(node).parent) {
    if (!is_row(node) && at(node).flow <= cut.flow) cut = {node, at(node).flow, false};
  }
  return cut;
}

void SpanningTree::push(Node from, Node top, std::int64_t row_change) {
  for (Node node = from; node != top; node = at(node).parent) {
    at(node).flow += is_row(node) ? row_change : -row_change;
  }
}

// Turns the path from `node` up to `last` over, each entry passing to its other end.
void SpanningTree::rehang(Node node, Node parent, std::int64_t flow, double cost, Node last) {
  for (;;) {
    Place& place = at(node);
    const Node old_parent = place.parent;
    detach(node);
    attach(node, parent);
    std::swap(place.flow, flow);
    std::swap(place.cost, cost);
    if (node == last) return;
    parent = node;
    node = old_parent;
  }
}

void SpanningTree::detach(Node node) {
  const Place& place = at(node);
  if (place.previous == kNoNode) {
    at(place.parent).first_child = place.next;
  } else {
    at(place.previous).next = place.next;
  }
  if (place.next != kNoNode) at(place.next).previous = place.previous;
}

void SpanningTree::attach(Node node, Node parent) {
  Place& place = at(node);
  place.parent = parent;
  place.previous = kNoNode;
  place.next = at(parent).first_child;
  if (place.next != kNoNode) at(place.next).previous = node;
  at(parent).first_child = node;
}

// From the parent each time, not by adding the change: sums of changes would drift.
void SpanningTree::refresh(Node node) {
  Place& place = at(node);
  const double value = place.cost - potential(place.parent);
  potential_[static_cast<std::size_t>(node)] = value;
  place.depth = at(place.parent).depth + 1;
  place.rounding =
      at(place.parent).rounding + std::abs(value) * std::numeric_limits<double>::epsilon();
}

void SpanningTree::refresh_below(Node top) {
  Node node = top;
  for (;;) {
    refresh(node);
    if (at(node).first_child != kNoNode) {
      node = at(node).first_child;
      continue;
    }
    while (node != top && at(node).next == kNoNode) node = at(node).parent;
    if (node == top) return;
    node = at(node).next;
  }
}

}  // namespace obol::transport
