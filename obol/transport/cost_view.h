// The costs between two sets of points, as every solver here looks at them.
//
//   const CostView<float> cost{values, n, m};   // cost.at(i, j) is that of moving from i to j
#pragma once

#include <cstddef>
#include <span>

namespace obol::transport {

// A row-major matrix that somebody else owns.
template <class Scalar>
struct CostView {
  std::span<const Scalar> values;
  std::size_t rows = 0;
  std::size_t columns = 0;

  [[nodiscard]] const Scalar* row(std::size_t i) const { return values.data() + i * columns; }
  [[nodiscard]] double at(std::size_t i, std::size_t j) const {
    return static_cast<double>(values[i * columns + j]);
  }
};

}  // namespace obol::transport
