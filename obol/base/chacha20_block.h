// One block of ChaCha20 (RFC 8439, section 2.3) for one thread of a CPU or of a GPU.
//
//   std::uint32_t words[16];
//   chacha20_block(key, counter, nonce, words);
#pragma once

#include <cstdint>

#include "obol/base/host_device.h"

namespace obol {

OBOL_INLINE void chacha20_turn(std::uint32_t& a, std::uint32_t b, std::uint32_t& d, int by) {
  a += b;
  d ^= a;
  d = (d << by) | (d >> (32 - by));
}

OBOL_INLINE void chacha20_quarter(std::uint32_t& a, std::uint32_t& b, std::uint32_t& c,
                                  std::uint32_t& d) {
  chacha20_turn(a, b, d, 16);
  chacha20_turn(c, d, b, 12);
  chacha20_turn(a, b, d, 8);
  chacha20_turn(c, d, b, 7);
}

OBOL_INLINE void chacha20_block(const std::uint32_t (&key)[8], std::uint32_t counter,
                                const std::uint32_t (&nonce)[3], std::uint32_t (&words)[16]) {
  const std::uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, key[0], key[1],
                                   key[2],     key[3],     key[4],     key[5],     key[6], key[7],
                                   counter,    nonce[0],   nonce[1],   nonce[2]};
  OBOL_UNROLL
  for (int k = 0; k < 16; ++k) words[k] = start[k];
  for (int round = 0; round < 10; ++round) {
    chacha20_quarter(words[0], words[4], words[8], words[12]);
    chacha20_quarter(words[1], words[5], words[9], words[13]);
    chacha20_quarter(words[2], words[6], words[10], words[14]);
    chacha20_quarter(words[3], words[7], words[11], words[15]);
    chacha20_quarter(words[0], words[5], words[10], words[15]);
    chacha20_quarter(words[1], words[6], words[11], words[12]);
    chacha20_quarter(words[2], words[7], words[8], words[13]);
    chacha20_quarter(words[3], words[4], words[9], words[14]);
  }
  OBOL_UNROLL
  for (int k = 0; k < 16; ++k) words[k] += start[k];
}

}  // namespace obol
