#include "obol/data/picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "obol/data/codecs.h"
#include "obol/data/layout.h"

namespace obol::data {
namespace {

constexpr std::uint64_t kLargestPictureFile = std::uint64_t{256} << 20;

enum class PictureFormat { kPng, kJpeg };

PictureFormat format_of(std::span<const std::byte> bytes, const std::string& name) {
  constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n";
  constexpr std::string_view kJpegMagic = "\xff\xd8\xff";
  const auto starts_with = [&](std::string_view magic) {
    return bytes.size() >= magic.size() &&
           std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
  };
  if (starts_with(kPngMagic)) return PictureFormat::kPng;
  if (starts_with(kJpegMagic)) return PictureFormat::kJpeg;
  throw DataError(violation("a picture", "PNG or JPEG", "neither by its first bytes", name));
}

// What output position `i` of `to` takes from which input positions of `from`.
struct Taps {
  std::int64_t first = 0;
  std::vector<double> weights;
};

std::vector<Taps> area_or_linear(std::int64_t from, std::int64_t to) {
  std::vector<Taps> all(static_cast<std::size_t>(to));
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  for (std::int64_t i = 0; i < to; ++i) {
    Taps& taps = all[static_cast<std::size_t>(i)];
    if (to <= from) {  // the share of each input cell that lies inside the output cell
      const double low = static_cast<double>(i) * scale;
      const double high = std::min(static_cast<double>(i + 1) * scale, static_cast<double>(from));
      taps.first = static_cast<std::int64_t>(low);
      for (std::int64_t j = taps.first; static_cast<double>(j) < high - 1e-9; ++j)
        taps.weights.push_back(
            (std::min(high, static_cast<double>(j + 1)) - std::max(low, static_cast<double>(j))) /
            (high - low));
    } else {  // between the two nearest cell centres
      const double centre = std::clamp((static_cast<double>(i) + 0.5) * scale - 0.5, 0.0,
                                       static_cast<double>(from - 1));
      taps.first = std::min(static_cast<std::int64_t>(centre), std::max<std::int64_t>(from - 2, 0));
      const double share = centre - static_cast<double>(taps.first);
      taps.weights = {1.0 - share};
      if (from > 1) taps.weights.push_back(share);
    }
  }
  return all;
}

template <class T>
T rounded(double value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else
    return static_cast<T>(std::clamp(std::lround(value), 0L, 255L));
}

// Rows, then columns. The weights are worked out once for all planes of a data set.
class Resizer {
 public:
  Resizer(const ImageShape& from, const ImageSize& to)
      : from_width_(from.width),
        columns_(area_or_linear(from.width, to.width)),
        rows_(area_or_linear(from.height, to.height)) {}

  template <class T>
  void plane(const T* in, T* out) {
    for (const Taps& row : rows_) {
      line_.assign(static_cast<std::size_t>(from_width_), 0.0);
      for (std::size_t k = 0; k < row.weights.size(); ++k) {
        const T* source = in + (row.first + static_cast<std::int64_t>(k)) * from_width_;
        for (std::size_t x = 0; x < line_.size(); ++x)
          line_[x] += row.weights[k] * static_cast<double>(source[x]);
      }
      for (const Taps& column : columns_) {
        double sum = 0;
        for (std::size_t k = 0; k < column.weights.size(); ++k)
          sum += column.weights[k] * line_[static_cast<std::size_t>(column.first) + k];
        *out++ = rounded<T>(sum);
      }
    }
  }

 private:
  std::int64_t from_width_;
  std::vector<Taps> columns_;
  std::vector<Taps> rows_;
  std::vector<double> line_;
};

template <class T>
std::vector<T> resize_planes(std::span<const T> in, const ImageShape& shape, const ImageSize& to) {
  const auto area_in = static_cast<std::size_t>(shape.height * shape.width);
  const auto area_out = static_cast<std::size_t>(to.height * to.width);
  std::vector<T> out(in.size() / area_in * area_out);
  Resizer resizer(shape, to);
  for (std::size_t plane = 0; plane * area_in < in.size(); ++plane)
    resizer.plane(in.data() + plane * area_in, out.data() + plane * area_out);
  return out;
}

ImageShape resized_shape(const ImageShape& shape, const ImageSize& size) {
  return {.channels = shape.channels, .height = size.height, .width = size.width};
}

}  // namespace

Picture decode(const Bytes& bytes, const ReadLimits& limits) {
  const auto content = read_all(bytes, std::min(kLargestPictureFile, limits.max_bytes));
  Picture picture = format_of(content, bytes.name()) == PictureFormat::kPng
                        ? decode_png(content, bytes.name(), limits)
                        : decode_jpeg(content, bytes.name(), limits);
  channels_first(picture.pixels, picture.shape);
  return picture;
}

ImageShape decode_shape(const Bytes& bytes, const ReadLimits& limits) {
  return decode(bytes, limits).shape;
}

std::vector<std::byte> png_bytes(const Picture& picture) {
  return encode_png(interleaved(picture.pixels, picture.shape), picture.shape);
}

void write_png(const Picture& picture, const Path& path) {
  AtomicFile file(path);
  file.write(png_bytes(picture));
  file.commit();
}

Picture centre_crop(const Picture& picture, std::int64_t side, const std::string& where) {
  const ImageShape& shape = picture.shape;
  const std::int64_t largest = std::min(shape.width, shape.height);
  if (side < 1 || side > largest)
    throw DataError(violation("the crop", fmt::format("between 1 and {}", largest), side, where));
  Picture cropped{{.channels = shape.channels, .height = side, .width = side}, {}};
  const std::int64_t left = (shape.width - side) / 2;
  const std::int64_t top = (shape.height - side) / 2;
  for (std::int64_t c = 0; c < shape.channels; ++c)
    for (std::int64_t y = top; y < top + side; ++y) {
      const auto row = picture.pixels.begin() + (c * shape.height + y) * shape.width + left;
      cropped.pixels.insert(cropped.pixels.end(), row, row + side);
    }
  return cropped;
}

Picture resize(const Picture& picture, const ImageSize& size) {
  return {resized_shape(picture.shape, size),
          resize_planes<std::uint8_t>(picture.pixels, picture.shape, size)};
}

Dataset resize(const Dataset& data, const ImageSize& size) {
  return {.shape = resized_shape(data.shape, size),
          .pixels = std::visit(
              [&](const auto& pixels) -> Pixels {
                using T = typename std::decay_t<decltype(pixels)>::value_type;
                return resize_planes<T>(pixels, data.shape, size);
              },
              data.pixels),
          .labels = data.labels,
          .class_names = data.class_names,
          .declared_size = data.declared_size};
}

}  // namespace obol::data
