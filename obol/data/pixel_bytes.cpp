#include "obol/data/pixel_bytes.h"

#include <algorithm>
#include <utility>

namespace obol::data {
namespace {

void pass_over(Stream& stream, std::uint64_t count) {
  std::vector<std::byte> piece(std::size_t{1} << 20);
  for (std::uint64_t left = count; left > 0;) {
    const auto part = std::span(piece).first(std::min<std::uint64_t>(left, piece.size()));
    stream.read_exactly(part, "the pixels");
    left -= part.size();
  }
}

}  // namespace

PixelBytes::PixelBytes(std::vector<std::uint8_t> held) {
  const auto owner = std::make_shared<const std::vector<std::uint8_t>>(std::move(held));
  bytes_ = *owner;
  owner_ = owner;
}

PixelBytes::PixelBytes(std::shared_ptr<const Mapping> mapping, std::size_t begin, std::size_t size)
    : is_mapped_(true) {
  const auto part = mapping->bytes().subspan(begin, size);
  bytes_ = {reinterpret_cast<const std::uint8_t*>(part.data()), part.size()};
  owner_ = std::move(mapping);
}

bool PixelBytes::operator==(const PixelBytes& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

PixelBytes read_pixel_bytes(Stream& stream, std::span<const std::uint64_t> dimensions,
                            const ReadLimits& limits) {
  const Stream::Place place = stream.place();
  if (place.bytes != nullptr) {
    const std::size_t size = claimed_bytes(dimensions, 1, stream, {.max_bytes = kNoLimit});
    const auto mapping = size >= limits.map_from ? place.bytes->map() : nullptr;
    if (mapping) {
      pass_over(stream, size);
      stream.expect_end();
      return {mapping, static_cast<std::size_t>(place.offset), size};
    }
  }
  std::vector<std::uint8_t> pixels(claimed_bytes(dimensions, 1, stream, limits));
  stream.read_exactly(std::as_writable_bytes(std::span(pixels)), "the pixels");
  stream.expect_end();
  return pixels;
}

}  // namespace obol::data
