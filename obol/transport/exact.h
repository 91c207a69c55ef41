// Optimal transport between two discrete measures, solved exactly and with a proof.
//
//   const CostView<float> cost{values, n, m};              // row-major, only looked at
//   const ExactResult r = exact_transport(cost, a, b);     // empty spans: uniform weights
//   r.value                                                // <C, P>
//   for (const auto& [row, column, mass] : r.plan) ...     // at most n + m - 1 entries
//   r.gap                                                  // value minus a lower bound on it
//
// The potentials f and g satisfy f_i + g_j <= C_ij everywhere, with equality where the plan has
// mass, both up to rounding. Any such pair bounds the optimum from below by <a, f> + <b, g>, so
// that `gap` proves how good the plan is, whatever the solver did to get there.
//
// Equal numbers of equal weights are an assignment problem (Jonker and Volgenant 1987); anything
// else goes to a network simplex. Both need O(n + m) memory besides the cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "obol/transport/cost_view.h"

namespace obol::transport {

// Mass that goes from a row to a column; never zero.
struct PlanEntry {
  std::size_t row;
  std::size_t column;
  double mass;

  bool operator==(const PlanEntry&) const = default;
};

// kSimplex solves assignment problems by the simplex as well: independent of the other, and, as it
// happens, faster in the plane and slower in many dimensions.
enum class ExactSolver { kAutomatic, kSimplex };

struct ExactOptions {
  ExactSolver solver = ExactSolver::kAutomatic;
  // The simplex stops here with a plan that is feasible but perhaps not optimal; 0 is no limit.
  std::int64_t max_pivots = 0;
};

struct ExactResult {
  double value = 0;
  std::vector<PlanEntry> plan;  // by row, then column
  std::vector<double> f;        // of the rows
  std::vector<double> g;        // of the columns
  std::int64_t iterations = 0;  // pivots, or shortest paths of an assignment
  double gap = 0;               // value - <a, f> - <b, g>; rounding may put it below zero
  // The solver finished, and the gap is at most 1e-9 of the mean size of the costs that the plan
  // pays, to which those next to zero are added. False where rounding allows no such proof: if some
  // costs are 1e7 times the others or more and yet the tree of the simplex cannot do without them,
  // as when they part the problem into blocks.
  bool converged = false;
};

// Weights are non-negative, of sums that differ by at most a relative 1e-9; b is scaled to the sum
// of a. An empty span means equal weights, with the sum of the other or else 1. A weight below
// 2^-62 of the sum counts as zero. Costs may be negative but are finite, of at most 1e290. Throws
// InvalidArgument, naming the entry, where any of this fails or a side is empty.
ExactResult exact_transport(const CostView<float>& cost, std::span<const double> a,
                            std::span<const double> b, const ExactOptions& options = {});
ExactResult exact_transport(const CostView<double>& cost, std::span<const double> a,
                            std::span<const double> b, const ExactOptions& options = {});

}  // namespace obol::transport
