// Entropic transport, slowly and obviously: in double, with a logarithm and an exponential for
// every pair. The fast solvers are tested against it.
#pragma once

#include <cstdint>
#include <vector>

namespace obol::transport::reference {

struct Problem {
  std::vector<double> cost;  // [rows, columns]
  std::vector<double> a;     // [rows], sums to 1
  std::vector<double> b;     // [columns], sums to 1
  double regularization = 1;
};

struct Solution {
  std::vector<double> f;
  std::vector<double> g;
  std::vector<double> plan;  // [rows, columns]
  double dual = 0;
  double primal = 0;
  double marginal_error = 0;  // L1, of the rows; the columns are met exactly
};

// Exactly `iterations` of: f from g, then g from f.
Solution solve(const Problem& problem, std::int64_t iterations);

}  // namespace obol::transport::reference
