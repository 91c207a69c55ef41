#include "obol/run/tensorboard.h"

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <system_error>

#include <fmt/format.h>

namespace obol::run {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::uint32_t, 256> crc_table() {
  constexpr std::uint32_t kReversedPolynomial = 0x82f63b78;
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = (value >> 1) ^ ((value & 1) != 0 ? kReversedPolynomial : 0);
    table[i] = value;
  }
  return table;
}

// A checksum of bytes that hold their own checksum says little, so the format masks it.
std::uint32_t masked_crc(std::string_view bytes) {
  constexpr int kRotation = 15;
  constexpr std::uint32_t kOffset = 0xa282ead8;
  return std::rotr(crc32c(bytes), kRotation) + kOffset;
}

// The number's bytes, least significant first.
template <class Number>
std::string little_endian(Number number) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

// Protocol buffers: a field is its number and its wire type, then its value.
enum class Wire : std::uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

std::string varint(std::uint64_t value) {
  constexpr std::uint64_t kMore = 0x80;
  std::string bytes;
  for (; value >= kMore; value >>= 7) bytes += static_cast<char>((value & (kMore - 1)) | kMore);
  return bytes + static_cast<char>(value);
}
std::string key(std::uint32_t field, Wire wire) {
  return varint((field << 3) | static_cast<std::uint32_t>(wire));
}
std::string integer(std::uint32_t field, std::int64_t value) {
  return key(field, Wire::kVarint) + varint(static_cast<std::uint64_t>(value));
}
std::string fixed(std::uint32_t field, double value) {
  return key(field, Wire::kFixed64) + little_endian(value);
}
std::string fixed(std::uint32_t field, float value) {
  return key(field, Wire::kFixed32) + little_endian(value);
}
std::string bytes(std::uint32_t field, std::string_view value) {
  return key(field, Wire::kBytes) + varint(value.size()) + std::string(value);
}

// Field numbers of TensorFlow's event.proto and summary.proto.
namespace event_field {
constexpr std::uint32_t kWallTime = 1;
constexpr std::uint32_t kStep = 2;
constexpr std::uint32_t kFileVersion = 3;
constexpr std::uint32_t kSummary = 5;
constexpr std::uint32_t kSessionLog = 7;
}  // namespace event_field
namespace summary_field {
constexpr std::uint32_t kValue = 1;
}
namespace value_field {
constexpr std::uint32_t kTag = 1;
constexpr std::uint32_t kSimpleValue = 2;
constexpr std::uint32_t kImage = 4;
}  // namespace value_field
namespace image_field {
constexpr std::uint32_t kHeight = 1;
constexpr std::uint32_t kWidth = 2;
constexpr std::uint32_t kColorspace = 3;
constexpr std::uint32_t kEncoded = 4;
}  // namespace image_field
namespace session_field {
constexpr std::uint32_t kStatus = 1;
constexpr std::int64_t kStart = 1;
}  // namespace session_field

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// The nearest float; an epsilon is never made smaller.
float as_float(const Metric& metric) {
  const double value = metric.value.value();
  const auto nearest = static_cast<float>(value);
  return metric.name == kEpsilonName && nearest < value
             ? std::nextafter(nearest, std::numeric_limits<float>::infinity())
             : nearest;
}

// TensorBoard reads what has "tfevents" in its name, in alphabetical order.
Path next_file(const Path& folder) {
  std::error_code ignored;  // whoever opens the file will see
  fs::create_directories(folder, ignored);
  const auto seconds = static_cast<std::int64_t>(wall_time());
  for (int i = 0;; ++i) {
    Path path = folder / fmt::format("events.out.tfevents.{:010}.{:04}.obol", seconds, i);
    if (!fs::exists(path, ignored)) return path;
  }
}

}  // namespace

std::uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<std::uint32_t, 256> kTable = crc_table();
  constexpr std::uint32_t kLowByte = 0xff;
  std::uint32_t state = ~std::uint32_t{0};
  for (const char c : bytes)
    state = kTable[(state ^ static_cast<unsigned char>(c)) & kLowByte] ^ (state >> 8);
  return ~state;
}

TensorBoard::TensorBoard(const Path& folder, std::int64_t last_step) : file_(next_file(folder)) {
  event(0, bytes(event_field::kFileVersion, "brain.Event:2"));
  event(last_step + 1,
        bytes(event_field::kSessionLog, integer(session_field::kStatus, session_field::kStart)));
}

void TensorBoard::scalars(std::int64_t step, const std::vector<Metric>& metrics) {
  std::string summary;
  for (const Metric& metric : metrics)
    summary += bytes(summary_field::kValue, bytes(value_field::kTag, metric.name) +
                                                fixed(value_field::kSimpleValue, as_float(metric)));
  event(step, bytes(event_field::kSummary, summary));
}

void TensorBoard::picture(std::int64_t step, std::string_view tag, const data::ImageShape& shape,
                          std::span<const std::byte> png) {
  const std::string_view encoded(reinterpret_cast<const char*>(png.data()), png.size());
  const std::string image =
      integer(image_field::kHeight, shape.height) + integer(image_field::kWidth, shape.width) +
      integer(image_field::kColorspace, shape.channels) + bytes(image_field::kEncoded, encoded);
  event(step, bytes(event_field::kSummary,
                    bytes(summary_field::kValue,
                          bytes(value_field::kTag, tag) + bytes(value_field::kImage, image))));
}

void TensorBoard::event(std::int64_t step, std::string_view content) {
  const std::string event = fixed(event_field::kWallTime, wall_time()) +
                            integer(event_field::kStep, step) + std::string(content);
  const std::string length = little_endian(std::uint64_t{event.size()});
  file_.append(length + little_endian(masked_crc(length)) + event +
               little_endian(masked_crc(event)));
}

}  // namespace obol::run
