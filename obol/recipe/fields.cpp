#include "obol/recipe/fields.h"

#include <cmath>

#include <fmt/format.h>

namespace obol::recipe {

bool Limits::allow(double value) const {
  if (!std::isfinite(value)) return false;
  if (low_is_open ? value <= low : value < low) return false;
  return high_is_open ? value < high : value <= high;
}

Limits any_number() { return {}; }

Limits positive() { return {.low = 0, .low_is_open = true, .words = "finite and positive"}; }

Limits at_least(double low) { return {.low = low, .words = fmt::format("at least {}", low)}; }

Limits between(double low, double high) {
  return {.low = low, .high = high, .words = fmt::format("between {} and {}", low, high)};
}

}  // namespace obol::recipe
