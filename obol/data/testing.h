// For the tests of this module: tiny files made in memory, and the messages of refusals.
//
//   const std::string file = idx({2, 1, 1}, {7, 9});
//   EXPECT_TRUE(says(refusal([&] { read_idx_images(in_memory(file)); }), {"test.bin"}));
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/file.h"
#include "obol/data/dataset.h"
#include "obol/data/picture.h"
#include "obol/data/private.h"

namespace obol::data::testing {

inline constexpr const char* kFileName = "test.bin";

// `content` must outlive what is returned.
inline MemoryBytes in_memory(std::string_view content, std::string name = kFileName) {
  return {std::move(name), std::as_bytes(std::span(content))};
}
MemoryBytes in_memory(std::string&&, std::string = {}) = delete;

std::string big_endian(std::uint64_t value, int size);
std::string little_endian(std::uint64_t value, int size);

template <class T>
std::string raw(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string idx(const std::vector<std::uint32_t>& dimensions,
                const std::vector<std::uint8_t>& values);

enum class Packing { kGzip, kRaw, kZlib };
std::string deflated(const std::string& content, Packing packing);
inline std::string gzip(const std::string& content) { return deflated(content, Packing::kGzip); }

// An NPY file with the header as given, padded as NumPy does.
std::string npy_with_header(const std::string& dict, const std::string& values, int version = 1);
// `shape` as Python writes it: "(2, 3)".
std::string npy(const std::string& type, const std::string& shape, const std::string& values,
                bool is_fortran_order = false);

// One entry of a ZIP file; what is not given is made to be true.
struct ZipPart {
  std::string name;
  std::string content;
  bool is_deflated = false;
  bool is_in64 = false;  // sizes and offset in the 64-bit field
  int flags = 0;
  std::optional<int> method;
  std::optional<std::uint32_t> crc;
  std::optional<std::uint64_t> size;
  std::optional<std::uint64_t> packed_size;
  std::optional<std::uint64_t> local_header;
  std::string extra;
};
struct ZipEnd {
  std::string comment;
  bool is_in64 = false;
  std::optional<std::uint64_t> entries;
  std::optional<std::uint64_t> directory_size;
  std::optional<std::uint64_t> directory_offset;
};
std::string zip(const std::vector<ZipPart>& parts, const ZipEnd& end = {});

// A PNG file, its rows with filter bytes as given; depth and colour type as in IHDR.
struct PngHeader {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  int depth = 8;
  int colour_type = 0;
};
std::string png_chunk(const std::string& type, const std::string& content);
std::string png(const PngHeader& header, const std::string& rows,
                const std::string& chunks_before = {});
std::string png(const Picture& picture);

#if OBOL_HAS_JPEG
std::string jpeg(const Picture& picture, int quality = 95, bool is_progressive = false);
#endif

Picture plain_picture(const ImageShape& shape, std::uint8_t value);

// Bytes 0, 1, 2, ... (or as many 255ths); labels 0, 1, ... in turn where there are classes.
Dataset counting_bytes(std::int64_t count, const ImageShape& shape, std::int32_t num_classes = 0);
Dataset counting_floats(std::int64_t count, const ImageShape& shape, std::int32_t num_classes = 0);
std::vector<std::uint8_t> bytes_of(const Dataset& data);
const std::vector<float>& floats_of(const Dataset& data);

// Writes a file below `folder`, with the folders between.
Path put(const Path& folder, const std::string& name, const std::string& content);

// The message of the error that `action` must throw; a test failure if it throws none or another.
std::string refusal(const std::function<void()>& action);
std::string usage_refusal(const std::function<void()>& action);
// Whether a message has all of these in it.
::testing::AssertionResult says(const std::string& message,
                                std::initializer_list<std::string_view> parts);

// Opens private values in tests.
class KeptReasons final : public DisclosureLog {
 public:
  void record(std::string_view reason) override { reasons.emplace_back(reason); }
  std::vector<std::string> reasons;
};
template <class T>
T opened(const Private<T>& value) {
  KeptReasons log;
  return value.declassify("a test looks inside", log).value;
}

// Sets an environment variable and puts back what was there.
class WithVariable {
 public:
  WithVariable(std::string name, const std::optional<std::string>& value);
  ~WithVariable();
  WithVariable(const WithVariable&) = delete;
  WithVariable& operator=(const WithVariable&) = delete;

 private:
  static void set(const std::string& name, const std::optional<std::string>& value);

  std::string name_;
  std::optional<std::string> before_;
};

}  // namespace obol::data::testing
