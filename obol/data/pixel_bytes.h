// Pixels of one byte each that nobody changes any more: held in memory, or left in their file.
//
//   PixelBytes held = std::vector<std::uint8_t>{0, 255};
//   PixelBytes read = read_pixel_bytes(*stream, header.dimensions, limits);   // maps what is large
//
// Copies share the memory. Of a mapped file only those pages are in memory that were used lately,
// so that data may be larger than it. Whoever changes the file meanwhile changes the data, and
// whoever cuts it short ends the process (docs/limitations.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "obol/base/file.h"
#include "obol/data/stream.h"

namespace obol::data {

class PixelBytes {
 public:
  using value_type = std::uint8_t;

  PixelBytes() = default;
  PixelBytes(std::vector<std::uint8_t> held);  // NOLINT(google-explicit-constructor): it is them
  // A part of a mapping.
  PixelBytes(std::shared_ptr<const Mapping> mapping, std::size_t begin, std::size_t size);

  [[nodiscard]] const std::uint8_t* data() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] auto begin() const noexcept { return bytes_.begin(); }
  [[nodiscard]] auto end() const noexcept { return bytes_.end(); }
  std::uint8_t operator[](std::size_t i) const noexcept { return bytes_[i]; }
  [[nodiscard]] bool is_mapped() const noexcept { return is_mapped_; }
  bool operator==(const PixelBytes& other) const;

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::uint8_t> bytes_;
  bool is_mapped_ = false;
};

// The rest of `stream`: the product of `dimensions`, as a header claims. Mapped where they lie in a
// file as they are and are at least limits.map_from (they are read once all the same, for their
// checksum and length). DataError where fewer or more follow, or too many to hold.
PixelBytes read_pixel_bytes(Stream& stream, std::span<const std::uint64_t> dimensions,
                            const ReadLimits& limits);

}  // namespace obol::data
