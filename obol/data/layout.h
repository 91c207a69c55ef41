// Channels first (in memory, as networks want them) and channels last (in files, as people do).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "obol/data/dataset.h"

namespace obol::data {

// [count, height, width, channels] -> [count, channels, height, width], record by record in place.
template <class T>
void channels_first(std::vector<T>& pixels, const ImageShape& shape) {
  if (shape.channels == 1) return;
  const auto channels = static_cast<std::size_t>(shape.channels);
  const auto area = static_cast<std::size_t>(shape.height * shape.width);
  std::vector<T> record(channels * area);
  for (std::size_t start = 0; start < pixels.size(); start += record.size()) {
    for (std::size_t p = 0; p < area; ++p)
      for (std::size_t c = 0; c < channels; ++c)
        record[c * area + p] = pixels[start + p * channels + c];
    std::copy(record.begin(), record.end(), pixels.begin() + static_cast<std::ptrdiff_t>(start));
  }
}

// One record [channels, height, width] -> [height, width, channels].
template <class T>
std::vector<T> interleaved(std::vector<T> record, const ImageShape& shape) {
  if (shape.channels == 1) return record;
  const auto channels = static_cast<std::size_t>(shape.channels);
  const auto area = static_cast<std::size_t>(shape.height * shape.width);
  std::vector<T> out(record.size());
  for (std::size_t c = 0; c < channels; ++c)
    for (std::size_t p = 0; p < area; ++p) out[p * channels + c] = record[c * area + p];
  return out;
}

}  // namespace obol::data
