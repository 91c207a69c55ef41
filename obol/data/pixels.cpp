#include "obol/data/pixels.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::data {
namespace {

[[noreturn]] void refuse(std::size_t at, std::size_t per_record, std::string_view requirement,
                         float value, const std::string& where) {
  throw DataError(violation(fmt::format("pixel {} of record {}", at % per_record, at / per_record),
                            requirement, value, where));
}

}  // namespace

std::vector<float> unit_pixels(std::vector<float> values, const std::optional<ValueRange>& range,
                               std::size_t per_record, std::size_t first_record,
                               const std::string& where) {
  const ValueRange given = range.value_or(ValueRange{.low = 0, .high = 1});
  const auto low = static_cast<float>(given.low);
  const auto high = static_cast<float>(given.high);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t at = first_record * per_record + i;
    if (!std::isfinite(values[i])) refuse(at, per_record, "a finite number", values[i], where);
    if (values[i] < low || values[i] > high)
      refuse(at, per_record,
             fmt::format("between {} and {}{}", low, high, range ? "" : ", or --range given"),
             values[i], where);
    // In doubles: as floats the two ends may be the same.
    const double share = (values[i] - given.low) / (given.high - given.low);
    values[i] = static_cast<float>(std::clamp(share, 0.0, 1.0));
  }
  return values;
}

Pixels to_pixels(std::vector<float> values, const std::optional<ValueRange>& range,
                 std::size_t per_record, const std::string& where) {
  if (range) return unit_pixels(std::move(values), range, per_record, 0, where);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) refuse(i, per_record, "a finite number", values[i], where);
  const auto is_unit = [](float v) { return v >= 0.0F && v <= 1.0F; };
  if (std::all_of(values.begin(), values.end(), is_unit)) return values;
  std::vector<std::uint8_t> bytes(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0.0F || values[i] > 255.0F || values[i] != std::trunc(values[i]))
      refuse(i, per_record,
             "in [0, 1], or a whole number up to 255, or inside a range that is given (--range)",
             values[i], where);
    bytes[i] = static_cast<std::uint8_t>(values[i]);
  }
  return bytes;
}

ImageShape shape_of_flat(std::uint64_t size) {
  const auto side = static_cast<std::uint64_t>(std::llround(std::sqrt(static_cast<double>(size))));
  if (side * side == size)
    return {.channels = 1,
            .height = static_cast<std::int64_t>(side),
            .width = static_cast<std::int64_t>(side)};
  return {.channels = 1, .height = 1, .width = static_cast<std::int64_t>(size)};
}

}  // namespace obol::data
