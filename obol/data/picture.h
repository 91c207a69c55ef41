// Single pictures: PNG and JPEG in, PNG out, resizing, centred squares.
//
//   Picture photo = decode(FileBytes("a.jpg"), limits);
//   Picture small = resize(centre_crop(photo, 178), {.width = 32, .height = 32});
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/data/dataset.h"
#include "obol/data/reader.h"

namespace obol::data {

struct Picture {
  ImageShape shape;                  // 1 or 3 channels
  std::vector<std::uint8_t> pixels;  // [channels, height, width]
};

// PNG or JPEG, told apart by the first bytes. Greys have one channel, colours three; transparency
// is laid on black. Damaged, cut-off and oversized files are DataErrors.
Picture decode(const Bytes& bytes, const ReadLimits& limits = {});
ImageShape decode_shape(const Bytes& bytes, const ReadLimits& limits = {});

std::vector<std::byte> png_bytes(const Picture& picture);
void write_png(const Picture& picture, const Path& path);

// `where` names the picture in the message about a side that does not fit.
Picture centre_crop(const Picture& picture, std::int64_t side, const std::string& where = {});

// Averages over areas where it shrinks, interpolates where it grows.
Picture resize(const Picture& picture, const ImageSize& size);
Dataset resize(const Dataset& data, const ImageSize& size);

}  // namespace obol::data
