// A problem as the solvers take it: what was checked and flattened, class by class.
#pragma once

#include <utility>
#include <vector>

#include "obol/transport/tensor/problem.h"

namespace obol::transport {

// The part of a problem that is solved on its own: all of it, or one class.
struct Block {
  torch::Tensor x;        // [n, d]
  torch::Tensor y;        // [m, d]
  torch::Tensor a;        // [n], double, summing to 1
  torch::Tensor b;        // [m]
  torch::Tensor cost;     // [n, m], labels included
  torch::Tensor rows;     // indices into the problem's x; undefined: all, in order
  torch::Tensor columns;  // into y
  double mass = 1;        // on the x side
};

// Checked as sinkhorn() says. `itself`: between x and x.
enum class Side { kOther, kItself };
std::vector<Block> blocks_of(const Problem& problem, Side side = Side::kOther);

// Each block on its own; `starts`, if any, are solutions to start from, one a block.
std::vector<Solution> solve(const std::vector<Block>& blocks, const SinkhornOptions& options,
                            Side side, const std::vector<Solution>& starts = {});

// Rows [begin, end) of the block's plan, which sums to 1.
torch::Tensor plan_rows(const Block& block, const Solution& solution, std::int64_t begin,
                        std::int64_t end);

// `whole` at `indices`, or all of it where they are undefined.
torch::Tensor part_of(const torch::Tensor& whole, const torch::Tensor& indices);

// The values of the blocks put together, and their potentials in the problem's order.
Solution joined(const Problem& problem, const std::vector<Block>& blocks,
                const std::vector<Solution>& solutions, Side side);

}  // namespace obol::transport
