#include "obol/run/grid.h"

#include <algorithm>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::run {
namespace {

constexpr std::int64_t kWidth = 600;  // at least
constexpr std::int64_t kLine = 2;
constexpr std::uint8_t kLineShade = 208;

std::int64_t quotient_up(std::int64_t number, std::int64_t divisor) {
  return (number + divisor - 1) / divisor;
}

void check(const Samples& samples) {
  const data::ImageShape& shape = samples.shape;
  if ((shape.channels != 1 && shape.channels != 3) || shape.height < 1 || shape.width < 1)
    throw InvalidArgument(violation("the shape of samples", "that of pictures", to_string(shape)));
  if (samples.columns < 1)
    throw InvalidArgument(violation("the columns of a grid", "at least 1", samples.columns));
  const auto size = static_cast<std::int64_t>(samples.pixels.size());
  if (size == 0 || size % shape.pixels() != 0)
    throw InvalidArgument(
        violation("the pixels of samples", fmt::format("a multiple of {}", shape.pixels()), size));
}

// One picture of one channel, enlarged, to its place.
void draw(const std::uint8_t* from, const data::ImageShape& shape, std::int64_t factor,
          std::uint8_t* to, std::int64_t stride) {
  for (std::int64_t y = 0; y < shape.height * factor; ++y)
    for (std::int64_t x = 0; x < shape.width; ++x)
      std::fill_n(to + y * stride + x * factor, factor, from[y / factor * shape.width + x]);
}

}  // namespace

data::Picture grid(const Samples& samples) {
  check(samples);
  const data::ImageShape& shape = samples.shape;
  const auto count = static_cast<std::int64_t>(samples.pixels.size()) / shape.pixels();
  const std::int64_t columns = std::min(samples.columns, count);
  const std::int64_t rows = quotient_up(count, columns);
  const std::int64_t factor =
      quotient_up(std::max<std::int64_t>(1, kWidth - (columns + 1) * kLine), columns * shape.width);
  const std::int64_t step_x = shape.width * factor + kLine;
  const std::int64_t step_y = shape.height * factor + kLine;
  data::Picture picture{{.channels = shape.channels,
                         .height = rows * step_y + kLine,
                         .width = columns * step_x + kLine},
                        {}};
  picture.pixels.assign(static_cast<std::size_t>(picture.shape.pixels()), kLineShade);
  const std::int64_t plane = picture.shape.height * picture.shape.width;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t corner =
        (i / columns * step_y + kLine) * picture.shape.width + i % columns * step_x + kLine;
    for (std::int64_t c = 0; c < shape.channels; ++c)
      draw(&samples.pixels[static_cast<std::size_t>((i * shape.channels + c) * shape.height *
                                                    shape.width)],
           shape, factor, &picture.pixels[static_cast<std::size_t>(c * plane + corner)],
           picture.shape.width);
  }
  return picture;
}

}  // namespace obol::run
