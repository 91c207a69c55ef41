// Shortest augmenting paths for the dense assignment problem.
#pragma once

#include <cstdint>
#include <vector>

#include "obol/transport/exact.h"

namespace obol::transport {

struct Assignment {
  std::vector<std::size_t> column_of;  // of each row
  std::vector<double> g;               // of the columns
  std::int64_t paths = 0;
};

// The cost is square.
template <class Scalar>
Assignment assign(const CostView<Scalar>& cost);

}  // namespace obol::transport
