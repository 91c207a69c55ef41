// PNG and JPEG through libpng and libjpeg. Either may be missing from a build; then its functions
// throw an InvalidArgument that says so. Pixels are [height, width, channels].
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "obol/data/dataset.h"
#include "obol/data/picture.h"
#include "obol/data/stream.h"

namespace obol::data {

Picture decode_png(std::span<const std::byte> content, const std::string& name,
                   const ReadLimits& limits);
Picture decode_jpeg(std::span<const std::byte> content, const std::string& name,
                    const ReadLimits& limits);
std::vector<std::byte> encode_png(const std::vector<std::uint8_t>& pixels, const ImageShape& shape);

}  // namespace obol::data
