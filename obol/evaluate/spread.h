// Mean and standard deviation of a figure over repetitions.
//
//   Spread spread = spread_of({0.91, 0.93, 0.92});
#pragma once

#include <cmath>
#include <vector>

namespace obol::evaluate {

struct Spread {
  double mean = 0;
  double deviation = 0;  // standard deviation of the sample; 0 for one value
};

// Of one value at least.
inline Spread spread_of(const std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  Spread spread;
  for (const double value : values) spread.mean += value / count;
  double squares = 0;
  for (const double value : values) squares += std::pow(value - spread.mean, 2);
  if (values.size() > 1) spread.deviation = std::sqrt(squares / (count - 1));
  return spread;
}

}  // namespace obol::evaluate
