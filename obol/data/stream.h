// Bytes one after the other, plain or inflated on the way, with the offset at hand for messages.
//
//   auto stream = open_stream(file, limits);          // gzip is recognised by its first bytes
//   stream->read_exactly(header, "the IDX header");   // or DataError with file and offset
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "obol/base/file.h"

namespace obol::data {

struct ReadLimits {
  // The most a file may hold once unpacked; beyond that it is refused as a bomb.
  std::uint64_t max_bytes = std::uint64_t{8} << 30;
  // Bytes that need no unpacking are left in their file, and mapped, from this size on.
  std::uint64_t map_from = std::uint64_t{1} << 26;
};

// For what is not held in memory.
inline constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 50;

// Deflate cannot shrink by more than this, so a header that claims more is a lie.
inline constexpr std::uint64_t kLargestDeflateRatio = 1032;

class Stream {
 public:
  virtual ~Stream() = default;
  // Up to out.size() bytes; fewer only at the end.
  std::size_t read(std::span<std::byte> out);
  void read_exactly(std::span<std::byte> out, std::string_view what);
  // Throws DataError unless everything was read.
  void expect_end();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] std::uint64_t offset() const noexcept { return offset_; }  // after inflating
  // No more than this can still come.
  [[nodiscard]] virtual std::uint64_t most_left() const = 0;
  // Where the next byte lies, as it is; nowhere, if it must be unpacked.
  struct Place {
    const Bytes* bytes = nullptr;
    std::uint64_t offset = 0;
  };
  [[nodiscard]] virtual Place place() const { return {}; }
  // "NAME, offset N".
  [[nodiscard]] std::string where() const;

 protected:
  explicit Stream(std::string name) : name_(std::move(name)) {}

 private:
  virtual std::size_t next(std::span<std::byte> out) = 0;

  std::string name_;
  std::uint64_t offset_ = 0;
};

// A part of `bytes`, as it is.
std::unique_ptr<Stream> plain_stream(const Bytes& bytes, std::uint64_t begin, std::uint64_t size,
                                     std::string name);

enum class Wrapping { kGzip, kRaw };
// A part of `bytes`, inflated; refuses to give out more than limits.max_bytes.
std::unique_ptr<Stream> inflate_stream(const Bytes& bytes, std::uint64_t begin, std::uint64_t size,
                                       Wrapping wrapping, const ReadLimits& limits,
                                       std::string name);

// The whole file, inflated if it starts like gzip.
std::unique_ptr<Stream> open_stream(const Bytes& bytes, const ReadLimits& limits);
// The same of an array whose header tells its size: there is no limit before that is known.
std::unique_ptr<Stream> open_array(const Bytes& bytes, const ReadLimits& limits);

// The product of `factors` times `item_size`, or DataError where it overflows, exceeds the limit
// or the stream cannot hold it: called before anything of that size is allocated.
std::size_t claimed_bytes(std::span<const std::uint64_t> factors, std::uint64_t item_size,
                          const Stream& stream, const ReadLimits& limits);

}  // namespace obol::data
