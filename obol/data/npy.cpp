#include "obol/data/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "obol/base/text.h"

namespace obol::data {
namespace {

static_assert(std::endian::native == std::endian::little);

// The header is the text of a Python dict with three keys; this reads just that much Python.
class DictParser {
 public:
  DictParser(std::string_view text, const Stream& stream) : text_(text), stream_(stream) {}

  NpyHeader parse() {
    NpyHeader header;
    bool has_descr = false;
    bool has_order = false;
    bool has_shape = false;
    expect('{');
    while (!accept('}')) {
      const std::string key = quoted();
      expect(':');
      if (key == "descr" && !has_descr) {
        parse_type(quoted(), header);
        has_descr = true;
      } else if (key == "fortran_order" && !has_order) {
        header.is_fortran_order = truth();
        has_order = true;
      } else if (key == "shape" && !has_shape) {
        header.shape = tuple();
        has_shape = true;
      } else {
        fail("a key out of descr, fortran_order and shape, once");
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (!has_descr || !has_order || !has_shape) fail("a dict with descr, fortran_order and shape");
    return header;
  }

 private:
  [[noreturn]] void fail(std::string_view expected) const {
    throw DataError(fmt::format("an NPY header must have {} at character {}, but has not ({})",
                                expected, at_, stream_.where()));
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool accept(char c) {
    skip_space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) fail(std::string(1, c));
  }
  std::string quoted() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '\'' && quote != '"') fail("quoted text");
    const auto end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a closing quote");
    std::string content(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return content;
  }
  bool truth() {
    skip_space();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return word == "True";
      }
    fail("True or False");
  }
  std::vector<std::uint64_t> tuple() {
    std::vector<std::uint64_t> items;
    expect('(');
    while (!accept(')')) {
      skip_space();
      const auto end = text_.find_first_not_of("0123456789", at_);
      const auto digits = text_.substr(at_, end == std::string_view::npos ? end : end - at_);
      const auto value = parse_integer(digits);
      if (!value) fail("a whole number");
      items.push_back(static_cast<std::uint64_t>(*value));
      at_ += digits.size();
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    constexpr std::size_t kHighestRank = 32;
    if (items.size() > kHighestRank) fail("at most 32 dimensions");
    return items;
  }
  void parse_type(const std::string& type, NpyHeader& header) const {
    static const std::vector<std::string> kKnown = {"b1", "i1", "i2", "i4", "i8", "u1",
                                                    "u2", "u4", "u8", "f4", "f8"};
    const bool is_known = type.size() == 3 &&
                          std::string_view("<>|=").find(type[0]) != std::string::npos &&
                          std::find(kKnown.begin(), kKnown.end(), type.substr(1)) != kKnown.end();
    if (!is_known)
      throw DataError(violation("the element type of an NPY array",
                                "a truth value, whole number or float of 4 or 8 bytes", type,
                                stream_.where()));
    header.is_big_endian = type[0] == '>';
    header.kind = type[1];
    header.item_size = static_cast<std::uint64_t>(type[2] - '0');
  }

  std::string_view text_;
  const Stream& stream_;
  std::size_t at_ = 0;
};

template <class Raw>
Raw load(const std::byte* from, bool is_big_endian) {
  std::array<std::byte, sizeof(Raw)> bytes;
  std::memcpy(bytes.data(), from, sizeof(Raw));
  if (is_big_endian) std::reverse(bytes.begin(), bytes.end());
  return std::bit_cast<Raw>(bytes);
}

// Whether T can hold `raw` without losing what it says.
template <class T, class Raw>
bool fits(Raw raw) {
  if constexpr (std::is_floating_point_v<T>) {
    return true;
  } else if constexpr (std::is_floating_point_v<Raw>) {
    // 2^digits is a float exactly, where the largest T itself may not be; NaN fails each test.
    const Raw above = std::ldexp(Raw{1}, std::numeric_limits<T>::digits);
    return std::trunc(raw) == raw && raw < above && raw >= (std::is_signed_v<T> ? -above : Raw{0});
  } else {
    return std::in_range<T>(raw);
  }
}

template <class T, class Raw>
void convert(Stream& stream, const NpyHeader& header, std::span<T> values) {
  std::array<std::byte, std::size_t{1} << 14> chunk;
  std::size_t done = 0;
  while (done < values.size()) {
    const std::size_t count = std::min(values.size() - done, chunk.size() / sizeof(Raw));
    const std::uint64_t start = stream.offset();
    stream.read_exactly(std::span(chunk).first(count * sizeof(Raw)), "the array");
    for (std::size_t i = 0; i < count; ++i) {
      const Raw raw = load<Raw>(chunk.data() + i * sizeof(Raw), header.is_big_endian);
      if (!fits<T>(raw))
        throw DataError(violation(
            fmt::format("value {}", done + i), fmt::format("a whole number of {} bytes", sizeof(T)),
            raw, fmt::format("{}, offset {}", stream.name(), start + i * sizeof(Raw))));
      // Widening a small number with its sign is what is meant here.
      values[done + i] = static_cast<T>(raw);  // NOLINT(bugprone-signed-char-misuse)
    }
    done += count;
  }
}

template <class T>
void dispatch(Stream& stream, const NpyHeader& header, std::span<T> values) {
  const auto size = header.item_size;
  switch (header.kind) {
    case 'i':
      if (size == 1) return convert<T, std::int8_t>(stream, header, values);
      if (size == 2) return convert<T, std::int16_t>(stream, header, values);
      if (size == 4) return convert<T, std::int32_t>(stream, header, values);
      return convert<T, std::int64_t>(stream, header, values);
    case 'f':
      if (size == 4) return convert<T, float>(stream, header, values);
      return convert<T, double>(stream, header, values);
    default:
      if (size == 1) return convert<T, std::uint8_t>(stream, header, values);
      if (size == 2) return convert<T, std::uint16_t>(stream, header, values);
      if (size == 4) return convert<T, std::uint32_t>(stream, header, values);
      return convert<T, std::uint64_t>(stream, header, values);
  }
}

template <class T>
constexpr char kind_of() {
  if (std::is_floating_point_v<T>) return 'f';
  return std::is_signed_v<T> ? 'i' : 'u';
}

// Values that came first-index-fastest, into last-index-fastest order.
template <class T>
std::vector<T> from_fortran(const std::vector<T>& values, const std::vector<std::uint64_t>& shape) {
  std::vector<T> out(values.size());
  std::vector<std::uint64_t> index(shape.size(), 0);
  std::vector<std::uint64_t> stride(shape.size(), 1);
  for (std::size_t d = 1; d < shape.size(); ++d) stride[d] = stride[d - 1] * shape[d - 1];
  std::uint64_t from = 0;
  for (T& value : out) {
    value = values[from];
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return out;
}

}  // namespace

std::string NpyHeader::type_name() const {
  return fmt::format("{}{}{}", item_size == 1 ? '|' : is_big_endian ? '>' : '<', kind, item_size);
}

NpyHeader read_npy_header(Stream& stream) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  std::array<std::byte, 8> start{};
  stream.read_exactly(start, "the NPY magic number");
  if (std::memcmp(start.data(), kMagic.data(), kMagic.size()) != 0)
    throw DataError(
        violation("an NPY array", "begun by \\x93NUMPY", "begun otherwise", stream.name()));
  const int version = std::to_integer<int>(start[6]);
  if (version < 1 || version > 3)
    throw DataError(violation("the NPY version", "1, 2 or 3", version, stream.where()));
  std::array<std::byte, 4> length_bytes{};
  stream.read_exactly(std::span(length_bytes).first(version == 1 ? 2 : 4), "the NPY header length");
  const auto length = load<std::uint32_t>(length_bytes.data(), false);
  constexpr std::uint32_t kLongestHeader = 1 << 16;
  if (length > kLongestHeader)
    throw DataError(violation("the NPY header", fmt::format("at most {} bytes", kLongestHeader),
                              length, stream.where()));
  std::string text(length, ' ');
  stream.read_exactly(std::as_writable_bytes(std::span(text)), "the NPY header");
  return DictParser(text, stream).parse();
}

template <class T>
void read_npy_part(Stream& stream, const NpyHeader& header, std::span<T> out) {
  const bool is_as_stored =
      header.kind == kind_of<T>() && header.item_size == sizeof(T) && !header.is_big_endian;
  if (is_as_stored)
    stream.read_exactly(std::as_writable_bytes(out), "the array");
  else
    dispatch(stream, header, out);
}

template <class T>
std::vector<T> read_npy_values(Stream& stream, const NpyHeader& header, const ReadLimits& limits) {
  const std::uint64_t count =
      claimed_bytes(header.shape, header.item_size, stream, limits) / header.item_size;
  if (count > limits.max_bytes / sizeof(T))
    throw DataError(violation("the array", fmt::format("at most {} bytes", limits.max_bytes),
                              fmt::format("{} x {} bytes", count, sizeof(T)), stream.where()));
  std::vector<T> values(static_cast<std::size_t>(count));
  read_npy_part(stream, header, std::span(values));
  stream.expect_end();
  return header.is_fortran_order && header.shape.size() > 1 ? from_fortran(values, header.shape)
                                                            : values;
}

template <class T>
std::string npy_header(const std::vector<std::int64_t>& shape) {
  const NpyHeader header{.kind = kind_of<T>(), .item_size = sizeof(T), .shape = {}};
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}",
                  header.type_name(), fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  constexpr std::size_t kAlignment = 64;
  constexpr std::size_t kBefore = 10;
  dict.append(kAlignment - (kBefore + dict.size() + 1) % kAlignment, ' ');
  dict += '\n';
  std::string text = "\x93NUMPY";
  text += {1, 0, static_cast<char>(dict.size() & 0xff), static_cast<char>(dict.size() >> 8)};
  return text + dict;
}

#define OBOL_INSTANTIATE(T)                                                                 \
  template std::vector<T> read_npy_values<T>(Stream&, const NpyHeader&, const ReadLimits&); \
  template void read_npy_part<T>(Stream&, const NpyHeader&, std::span<T>);                  \
  template std::string npy_header<T>(const std::vector<std::int64_t>&);
OBOL_INSTANTIATE(std::uint8_t)
OBOL_INSTANTIATE(std::int32_t)
OBOL_INSTANTIATE(std::int64_t)
OBOL_INSTANTIATE(float)
OBOL_INSTANTIATE(double)
#undef OBOL_INSTANTIATE

}  // namespace obol::data
