#include "obol/data/pixels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace obol::data {
namespace {

bool are_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
}

}  // namespace

std::vector<float> unit_pixels(std::vector<float> values, const ValueRange& range,
                               std::size_t per_record) {
  for (std::size_t start = 0; start < values.size(); start += per_record) {
    const auto record = std::span(values).subspan(start, per_record);
    if (!are_finite(record)) {
      std::fill(record.begin(), record.end(), 0.0F);
      continue;
    }
    for (float& value : record) {
      // In doubles: as floats the two ends may be the same.
      const double share = (value - range.low) / (range.high - range.low);
      value = static_cast<float>(std::clamp(share, 0.0, 1.0));
    }
  }
  return values;
}

NumbersSeen numbers_seen(const std::vector<float>& values, std::size_t per_record) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  NumbersSeen seen{.finite = {.low = kInfinity, .high = -kInfinity}};
  for (std::size_t start = 0; start < values.size(); start += per_record) {
    const auto record = std::span(values).subspan(start, per_record);
    if (!are_finite(record)) ++seen.records_not_finite;
    for (const float value : record) {
      if (!std::isfinite(value)) continue;
      seen.finite.low = std::min<double>(seen.finite.low, value);
      seen.finite.high = std::max<double>(seen.finite.high, value);
    }
  }
  return seen;
}

ImageShape shape_of_flat(std::uint64_t size, const Declaration& declared) {
  if (declared.size && declared.channels.value_or(1) == 1 &&
      static_cast<std::uint64_t>(declared.size->width * declared.size->height) == size)
    return {.channels = 1, .height = declared.size->height, .width = declared.size->width};
  const auto side = static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(size))));
  if (side * side == size)
    return {.channels = 1,
            .height = static_cast<std::int64_t>(side),
            .width = static_cast<std::int64_t>(side)};
  return {.channels = 1, .height = 1, .width = static_cast<std::int64_t>(size)};
}

}  // namespace obol::data
