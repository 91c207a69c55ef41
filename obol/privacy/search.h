// The minimum of a function of one positive number that falls, then rises.
#pragma once

#include <algorithm>
#include <cmath>

namespace obol::privacy {

struct SearchRange {
  double start;
  double lowest;
  double highest;
};

// Where the minimum is, to about 1e-9 relative after 50 iterations (0.62 per iteration).
template <class Function>
double minimize(const Function& value, SearchRange range, int iterations = 50) {
  // Walk from the start in the falling direction until it rises.
  double middle = range.start;
  const double direction = value(2 * middle) < value(middle) ? 2 : 0.5;
  double next = middle * direction;
  while (next > range.lowest && next < range.highest && value(next) < value(middle)) {
    middle = next;
    next *= direction;
  }
  double low = std::log(std::max(std::min(next, middle / 2), range.lowest));
  double high = std::log(std::min(std::max(next, middle * 2), range.highest));
  const double golden = (std::sqrt(5.0) - 1) / 2;
  double left = high - golden * (high - low);
  double right = low + golden * (high - low);
  double at_left = value(std::exp(left));
  double at_right = value(std::exp(right));
  for (int i = 0; i < iterations; ++i) {
    if (at_left < at_right) {
      high = right;
      right = left;
      at_right = at_left;
      left = high - golden * (high - low);
      at_left = value(std::exp(left));
    } else {
      low = left;
      left = right;
      at_left = at_right;
      right = low + golden * (high - low);
      at_right = value(std::exp(right));
    }
  }
  return std::exp((low + high) / 2);
}

}  // namespace obol::privacy
