// Generated pictures side by side, large enough to be looked at.
//
//   write_png(grid({.shape = {1, 28, 28}, .pixels = bytes, .columns = 10}), folder.sample(100));
#pragma once

#include <cstdint>
#include <vector>

#include "obol/data/dataset.h"
#include "obol/data/picture.h"

namespace obol::run {

struct Samples {
  data::ImageShape shape;
  std::vector<std::uint8_t> pixels;  // [count, channels, height, width]
  std::int64_t columns = 10;         // a row for each class, as a rule
};

// Row by row, with thin lines between, scaled by a whole number so that no pixel is blurred. Places
// that are left over have the colour of the lines.
data::Picture grid(const Samples& samples);

}  // namespace obol::run
