// Numbers from a file into pixels.
#pragma once

#include <cstdint>
#include <vector>

#include "obol/data/dataset.h"
#include "obol/data/declaration.h"
#include "obol/data/reader.h"

namespace obol::data {

// Scaled from `range` to [0, 1] and clamped. A record, which is `per_record` numbers, with one that
// is not finite is black; no number has a say in what another means.
std::vector<float> unit_pixels(std::vector<float> values, const ValueRange& range,
                               std::size_t per_record);

NumbersSeen numbers_seen(const std::vector<float>& values, std::size_t per_record);

// For flat rows of `size` numbers: the declared size where it fits; else a square, or a single line
// where it is none.
ImageShape shape_of_flat(std::uint64_t size, const Declaration& declared = {});

}  // namespace obol::data
