#include "obol/data/stream.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <zlib.h>

namespace obol::data {
namespace {

class PlainStream final : public Stream {
 public:
  PlainStream(const Bytes& bytes, std::uint64_t begin, std::uint64_t size, std::string name)
      : Stream(std::move(name)), bytes_(bytes), position_(begin), left_(size) {}
  [[nodiscard]] std::uint64_t most_left() const override { return left_; }
  [[nodiscard]] Place place() const override { return {&bytes_, position_}; }

 private:
  std::size_t next(std::span<std::byte> out) override {
    out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), left_)));
    const std::size_t count = bytes_.read_at(position_, out);
    position_ += count;
    left_ -= count;
    return count;
  }

  const Bytes& bytes_;
  std::uint64_t position_;
  std::uint64_t left_;
};

class InflateStream final : public Stream {
 public:
  InflateStream(const Bytes& bytes, std::uint64_t begin, std::uint64_t size, Wrapping wrapping,
                const ReadLimits& limits, std::string name)
      : Stream(std::move(name)),
        packed_(bytes, begin, size, bytes.name()),
        wrapping_(wrapping),
        limit_(limits.max_bytes) {
    constexpr int kGzipBits = 15 + 16;
    constexpr int kRawBits = -15;
    if (inflateInit2(&zlib_, wrapping == Wrapping::kGzip ? kGzipBits : kRawBits) != Z_OK)
      throw Error("zlib must start, but ran out of memory");
  }
  ~InflateStream() override { inflateEnd(&zlib_); }
  InflateStream(const InflateStream&) = delete;
  InflateStream& operator=(const InflateStream&) = delete;

  [[nodiscard]] std::uint64_t most_left() const override {
    const std::uint64_t packed_left = packed_.most_left() + zlib_.avail_in;
    // What zlib holds inside is at most one window and one match.
    constexpr std::uint64_t kInside = (std::uint64_t{1} << 16);
    return packed_left > limit_ ? limit_ : packed_left * kLargestDeflateRatio + kInside;
  }

 private:
  std::size_t next(std::span<std::byte> out) override {
    std::size_t done = 0;
    while (done < out.size() && !ended_) {
      if (zlib_.avail_in == 0) refill();
      const auto chunk = static_cast<uInt>(
          std::min<std::size_t>(out.size() - done, std::numeric_limits<uInt>::max()));
      zlib_.next_out = reinterpret_cast<Bytef*>(out.data() + done);
      zlib_.avail_out = chunk;
      const int status = inflate(&zlib_, Z_NO_FLUSH);
      const std::size_t produced = chunk - zlib_.avail_out;
      done += produced;
      if (offset() + done > limit_)
        throw DataError(violation(name(), fmt::format("at most {} bytes unpacked", limit_), "more",
                                  packed_.where()));
      if (status == Z_STREAM_END) {
        end_of_member();
      } else if (status != Z_OK && !(status == Z_BUF_ERROR && (produced > 0 || refillable()))) {
        throw DataError(fmt::format("{} must be whole deflate data, but {} ({})", name(),
                                    zlib_.msg != nullptr ? zlib_.msg : "is cut off",
                                    packed_.where()));
      }
    }
    return done;
  }

  [[nodiscard]] bool refillable() const { return zlib_.avail_in == 0 && packed_.most_left() > 0; }

  void refill() {
    const std::size_t count = packed_.read(std::as_writable_bytes(std::span(buffer_)));
    zlib_.next_in = buffer_.data();
    zlib_.avail_in = static_cast<uInt>(count);
  }

  // A gzip file may be several members one after the other.
  void end_of_member() {
    if (zlib_.avail_in == 0) refill();
    if (wrapping_ == Wrapping::kGzip && zlib_.avail_in > 0)
      inflateReset(&zlib_);
    else
      ended_ = true;
  }

  PlainStream packed_;
  Wrapping wrapping_;
  std::uint64_t limit_;
  z_stream zlib_{};
  std::array<Bytef, std::size_t{1} << 16> buffer_{};
  bool ended_ = false;
};

}  // namespace

std::size_t Stream::read(std::span<std::byte> out) {
  const std::size_t count = next(out);
  offset_ += count;
  return count;
}

void Stream::read_exactly(std::span<std::byte> out, std::string_view what) {
  const std::uint64_t start = offset_;
  std::size_t done = 0;
  while (done < out.size()) {
    const std::size_t count = read(out.subspan(done));
    if (count == 0)
      throw DataError(fmt::format("{} must have {} bytes at offset {}, but ends after {} ({})",
                                  what, out.size(), start, done, name_));
    done += count;
  }
}

void Stream::expect_end() {
  std::byte extra{};
  if (read({&extra, 1}) != 0)
    throw DataError(violation(name_, fmt::format("{} bytes long", offset_ - 1), "longer", where()));
}

std::string Stream::where() const { return fmt::format("{}, offset {}", name_, offset_); }

std::unique_ptr<Stream> plain_stream(const Bytes& bytes, std::uint64_t begin, std::uint64_t size,
                                     std::string name) {
  return std::make_unique<PlainStream>(bytes, begin, size, std::move(name));
}

std::unique_ptr<Stream> inflate_stream(const Bytes& bytes, std::uint64_t begin, std::uint64_t size,
                                       Wrapping wrapping, const ReadLimits& limits,
                                       std::string name) {
  return std::make_unique<InflateStream>(bytes, begin, size, wrapping, limits, std::move(name));
}

std::unique_ptr<Stream> open_array(const Bytes& bytes, const ReadLimits& limits) {
  std::array<std::byte, 2> magic{};
  const bool is_gzip =
      bytes.read_at(0, magic) == 2 && magic[0] == std::byte{0x1f} && magic[1] == std::byte{0x8b};
  return is_gzip ? inflate_stream(bytes, 0, bytes.size(), Wrapping::kGzip, limits, bytes.name())
                 : plain_stream(bytes, 0, bytes.size(), bytes.name());
}

std::unique_ptr<Stream> open_stream(const Bytes& bytes, const ReadLimits& limits) {
  auto stream = open_array(bytes, limits);
  if (stream->place().bytes != nullptr && bytes.size() > limits.max_bytes)
    throw DataError(violation(bytes.name(), fmt::format("at most {} bytes long", limits.max_bytes),
                              bytes.size()));
  return stream;
}

std::size_t claimed_bytes(std::span<const std::uint64_t> factors, std::uint64_t item_size,
                          const Stream& stream, const ReadLimits& limits) {
  const std::uint64_t most = std::min(limits.max_bytes, stream.most_left());
  std::uint64_t bytes = item_size;
  bool too_many = false;
  for (const std::uint64_t factor : factors)
    too_many = __builtin_mul_overflow(bytes, factor, &bytes) || too_many;
  if (too_many || bytes > most)
    throw DataError(violation("the size that the header claims",
                              fmt::format("at most the {} bytes that can follow", most),
                              fmt::format("{} x {} bytes", fmt::join(factors, " x "), item_size),
                              stream.where()));
  return static_cast<std::size_t>(bytes);
}

}  // namespace obol::data
