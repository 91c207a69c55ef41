// For the tests of methods: two classes of pictures that any generator can learn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "obol/data/dataset.h"
#include "obol/data/private.h"

namespace obol::method::testing {

// 28 x 28: dark, but for the upper half in class 0 and the lower half in class 1.
inline Private<data::Dataset> halves(std::int64_t count) {
  constexpr std::int64_t kPixels = 784;
  data::Dataset set{.shape = {.channels = 1, .height = 28, .width = 28}, .declared_size = count};
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(count * kPixels), 20);
  for (std::int64_t k = 0; k < count; ++k) {
    set.labels.push_back(static_cast<std::int32_t>(k % 2));
    const std::int64_t from = k * kPixels + (k % 2) * kPixels / 2;
    std::fill_n(pixels.begin() + from, kPixels / 2, std::uint8_t{230});
  }
  set.pixels = std::move(pixels);
  set.class_names = {"upper", "lower"};
  return Private<data::Dataset>(std::move(set));
}

}  // namespace obol::method::testing
