#include "obol/base/chacha20_block.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace obol {
namespace {

std::vector<std::uint32_t> block(const std::uint32_t (&key)[8], std::uint32_t counter,
                                 const std::uint32_t (&nonce)[3]) {
  std::uint32_t words[16];
  chacha20_block(key, counter, nonce, words);
  return {words, words + 16};
}

// RFC 8439, section 2.3.2.
TEST(ChaCha20, MakesTheBlockOfTheStandard) {
  std::uint32_t key[8];
  for (std::uint32_t k = 0; k < 8; ++k) key[k] = 0x03020100 + k * 0x04040404;
  const std::vector<std::uint32_t> expected = {0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3,
                                               0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
                                               0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9,
                                               0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
  EXPECT_EQ(block(key, 1, {0x09000000, 0x4a000000, 0}), expected);
}

// RFC 8439, appendix A.1, test vectors 1 and 2: key and nonce zero, blocks 0 and 1.
TEST(ChaCha20, MakesTheFirstBlocksOfTheZeroKey) {
  const auto first = block({}, 0, {});
  EXPECT_EQ(first[0], 0xade0b876);
  EXPECT_EQ(first[1], 0x903df1a0);
  EXPECT_EQ(first[15], 0x8665eeb2);
  const auto second = block({}, 1, {});
  EXPECT_EQ(second[0], 0xbee7079f);
  EXPECT_EQ(second[15], 0x6f4d794b);
}

}  // namespace
}  // namespace obol
