#include "obol/data/stream.h"

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/testing.h"

namespace obol::data {
namespace {

using testing::deflated;
using testing::gzip;
using testing::in_memory;
using testing::Packing;
using testing::refusal;
using testing::says;

std::string text_of(Stream& stream, std::size_t piece = 7) {
  std::string text;
  std::string chunk(piece, '\0');
  while (const std::size_t count = stream.read(std::as_writable_bytes(std::span(chunk))))
    text.append(chunk, 0, count);
  return text;
}

bool holds(const std::function<std::string()>& read, const std::string& content) {
  try {
    return read() == content;
  } catch (const DataError&) {
    return false;
  }
}

TEST(Stream, ReadsPlainBytesToTheEnd) {
  const std::string content = "more than one piece of them";
  const MemoryBytes bytes = in_memory(content);
  const auto stream = open_stream(bytes, {});
  EXPECT_EQ(stream->most_left(), content.size());
  EXPECT_EQ(text_of(*stream), content);
  EXPECT_EQ(stream->offset(), content.size());
  EXPECT_EQ(stream->most_left(), 0U);
  EXPECT_NO_THROW(stream->expect_end());
}

TEST(Stream, ReadsOnlyThePartItIsGiven) {
  const std::string content = "0123456789";
  const MemoryBytes bytes = in_memory(content);
  EXPECT_EQ(text_of(*plain_stream(bytes, 2, 5, "part")), "23456");
}

TEST(Stream, InflatesGzipOfOneMemberAndOfSeveral) {
  std::string content;
  for (int i = 0; i < 30000; ++i) content += std::to_string(i);
  const std::string one = gzip(content);
  EXPECT_EQ(text_of(*open_stream(in_memory(one), {}), 4096), content);
  const std::string many = gzip(content) + gzip("") + gzip("tail");
  EXPECT_EQ(text_of(*open_stream(in_memory(many), {}), 4096), content + "tail");
}

TEST(Stream, InflatesRawDeflate) {
  const std::string packed = deflated("abcabcabc", Packing::kRaw);
  const MemoryBytes bytes = in_memory(packed);
  EXPECT_EQ(text_of(*inflate_stream(bytes, 0, packed.size(), Wrapping::kRaw, {}, "raw")),
            "abcabcabc");
}

TEST(Stream, NamesFileAndOffsetWhenItEndsEarly) {
  const std::string content = "12345";
  const MemoryBytes bytes = in_memory(content);
  const auto stream = open_stream(bytes, {});
  std::array<std::byte, 4> four{};
  stream->read_exactly(four, "the head");
  EXPECT_TRUE(says(refusal([&] { stream->read_exactly(four, "the rest"); }),
                   {"the rest", "4 bytes at offset 4", "after 1", "test.bin"}));
}

TEST(Stream, RefusesBytesAfterTheEnd) {
  const std::string content = "12345";
  const MemoryBytes bytes = in_memory(content);
  const auto stream = open_stream(bytes, {});
  std::array<std::byte, 4> four{};
  stream->read_exactly(four, "the head");
  EXPECT_TRUE(says(refusal([&] { stream->expect_end(); }), {"test.bin", "4 bytes long", "longer"}));
}

TEST(Stream, RefusesGzipCutOffAnywhere) {
  const std::string whole = gzip("some content that is long enough to be worth packing, packing");
  for (std::size_t length = 2; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    EXPECT_TRUE(says(refusal([&] { text_of(*open_stream(in_memory(cut), {})); }),
                     {"test.bin", "cut off", "offset"}))
        << length;
  }
}

TEST(Stream, RefusesGzipWithAFlippedBitInContentOrSums) {
  const std::string content = "some content that is long enough to be worth packing, packing";
  const std::string whole = gzip(content);
  constexpr std::size_t kGzipHeader = 10;
  const std::size_t trailer = whole.size() - 8;
  for (std::size_t at = kGzipHeader; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const auto read = [&] { return text_of(*open_stream(in_memory(damaged), {})); };
      // The last bits before the sums may be padding, which says nothing.
      if (at + 1 == trailer && bit > 0 && holds(read, content)) continue;
      EXPECT_TRUE(says(refusal(read), {"test.bin", "offset"})) << "byte " << at << " bit " << bit;
    }
  }
}

TEST(Stream, RefusesWhatFollowsGzipAndIsNoGzip) {
  const std::string content = gzip("abc") + "junk";
  EXPECT_TRUE(says(refusal([&] { text_of(*open_stream(in_memory(content), {})); }),
                   {"test.bin", "header"}));
}

TEST(Stream, InflatesUpToTheLimitAndNotAByteMore) {
  const std::string packed = gzip(std::string(100000, 'x'));
  ASSERT_LT(packed.size(), 500U);
  EXPECT_EQ(text_of(*open_stream(in_memory(packed), {.max_bytes = 100000})).size(), 100000U);
  EXPECT_TRUE(says(refusal([&] { text_of(*open_stream(in_memory(packed), {.max_bytes = 99999})); }),
                   {"test.bin", "at most 99999 bytes unpacked", "offset"}));
}

TEST(Stream, HasRoomLeftForWhatItStillHolds) {
  const std::string content(1 << 20, 'x');
  const std::string packed = gzip(content);
  const MemoryBytes bytes = in_memory(packed);
  const auto stream = open_stream(bytes, {});
  std::vector<std::byte> chunk(100000);
  while (true) {
    EXPECT_GE(stream->most_left(), content.size() - stream->offset());
    if (stream->read(chunk) == 0) break;
  }
}

TEST(ClaimedBytes, MultipliesWhatFits) {
  const std::string content(24, 'x');
  const MemoryBytes bytes = in_memory(content);
  const auto stream = open_stream(bytes, {});
  const std::vector<std::uint64_t> factors = {2, 3};
  EXPECT_EQ(claimed_bytes(factors, 4, *stream, {}), 24U);
  EXPECT_EQ(claimed_bytes({}, 4, *stream, {}), 4U);
}

TEST(ClaimedBytes, RefusesMoreThanCanFollowAndMoreThanTheLimit) {
  const std::string content(24, 'x');
  const MemoryBytes bytes = in_memory(content);
  const auto stream = open_stream(bytes, {});
  const auto claim = [&](std::vector<std::uint64_t> factors, const ReadLimits& limits = {}) {
    return refusal([&] { (void)claimed_bytes(factors, 1, *stream, limits); });
  };
  EXPECT_TRUE(says(claim({25}), {"24 bytes", "25 x 1", "test.bin, offset 0"}));
  EXPECT_TRUE(says(claim({24}, {.max_bytes = 23}), {"at most the 23 bytes"}));
  constexpr std::uint64_t kLarge = std::uint64_t{1} << 33;
  EXPECT_TRUE(says(claim({kLarge, kLarge}), {"test.bin"}));
  EXPECT_TRUE(says(claim({kLarge, kLarge, 0}), {"test.bin"})) << "overflows on the way";
}

}  // namespace
}  // namespace obol::data
