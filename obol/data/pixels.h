// Numbers from a file into pixels.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "obol/data/dataset.h"
#include "obol/data/reader.h"

namespace obol::data {

// Floats in [0, 1] stay; whole numbers up to 255 become bytes; with `range` both are scaled from
// it. Anything else is a DataError with the record. `per_record` numbers make one record.
Pixels to_pixels(std::vector<float> values, const std::optional<ValueRange>& range,
                 std::size_t per_record, const std::string& where);

// For records of which these are only some, from `first_record` on: all in [0, 1], or scaled from
// `range`, whatever the values look like.
std::vector<float> unit_pixels(std::vector<float> values, const std::optional<ValueRange>& range,
                               std::size_t per_record, std::size_t first_record,
                               const std::string& where);

// A side-by-side square for flat rows of `size` numbers; a single line where it is no square.
ImageShape shape_of_flat(std::uint64_t size);

}  // namespace obol::data
