// Weights of the two sides as whole numbers of one small unit.
//
//   const Masses masses = balance(a, n, b, m);      // empty spans: uniform
//   masses.rows[i] * masses.unit                    // a[i], to 2^-62 of the sum
//
// Whole numbers make sums exact: both sides agree to the last unit, a flow is zero or it is not,
// and ties between supply and demand are ties. With rounded sums none of these would hold, and the
// simplex could neither recognise degenerate steps nor rule out cycles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace obol::transport {

struct Masses {
  std::vector<std::int64_t> rows;
  std::vector<std::int64_t> columns;  // of the same sum, below 2^62
  long double unit = 0;  // beyond the range of double where the weights are at its ends
  bool uniform = false;  // all rows have one weight, and all columns one

  [[nodiscard]] double mass(std::int64_t units) const {
    return static_cast<double>(static_cast<long double>(units) * unit);
  }
};

// Weights are finite and non-negative, sums positive and within a relative 1e-9 of each other; b is
// scaled to the sum of a. Throws InvalidArgument otherwise.
Masses balance(std::span<const double> a, std::size_t rows, std::span<const double> b,
               std::size_t columns);

}  // namespace obol::transport
