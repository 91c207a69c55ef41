#include "obol/base/chacha20.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/chacha20_block.h"

namespace obol {
namespace {

ChaCha20Stream of_the_standard() {
  ChaCha20Stream stream{};
  for (std::uint32_t k = 0; k < 8; ++k) stream.key[k] = 0x03020100 + k * 0x04040404;
  return stream;
}

// RFC 8439, section 2.3.2.
TEST(ChaCha20, MakesTheBlockOfTheStandard) {
  ChaCha20Stream stream = of_the_standard();
  stream.nonce = {0x09000000, 0x4a000000, 0};
  stream.counter = 1;
  std::vector<std::uint32_t> words(16);
  chacha20(stream, words);
  const std::vector<std::uint32_t> expected = {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3,
                                               0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
                                               0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
                                               0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
  EXPECT_EQ(words, expected);
}

// RFC 8439, appendix A.1, test vectors 1 and 2: key and nonce zero, blocks 0 and 1.
TEST(ChaCha20, MakesTheFirstBlocksOfTheZeroKey) {
  std::vector<std::uint32_t> words(32);
  chacha20({.key = {}}, words);
  EXPECT_EQ(words[0], 0xade0b876);
  EXPECT_EQ(words[1], 0x903df1a0);
  EXPECT_EQ(words[15], 0x8665eeb2);
  EXPECT_EQ(words[16], 0xbee7079f);
  EXPECT_EQ(words[31], 0x6f4d794b);
}

TEST(ChaCha20, IsOneStreamHoweverLongThePieces) {
  const ChaCha20Stream stream = of_the_standard();
  std::vector<std::uint32_t> whole(1000);
  chacha20(stream, whole);
  for (const std::size_t length : {1U, 15U, 16U, 255U, 256U, 257U, 999U}) {
    std::vector<std::uint32_t> part(length);
    chacha20(stream, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin())) << length;
  }
  ChaCha20Stream later = stream;
  later.counter = 20;
  std::vector<std::uint32_t> rest(1000 - 320);
  chacha20(later, rest);
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), whole.begin() + 320));
}

TEST(ChaCha20, OneBlockIsThatOfTheStream) {
  ChaCha20Stream stream = of_the_standard();
  stream.nonce = {0x09000000, 0x4a000000, 7};
  for (const std::uint32_t counter : {0U, 1U, 0xffffffffU}) {
    stream.counter = counter;
    std::vector<std::uint32_t> expected(16);
    chacha20(stream, expected);
    std::uint32_t key[8];
    std::copy(stream.key.begin(), stream.key.end(), key);
    std::uint32_t words[16];
    chacha20_block(key, counter, {stream.nonce[0], stream.nonce[1], stream.nonce[2]}, words);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), words)) << counter;
  }
}

}  // namespace
}  // namespace obol
