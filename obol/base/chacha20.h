// The stream cipher ChaCha20 (RFC 8439, section 2.3), as what turns a secret key into many random
// words.
//
//   ChaCha20Key key = ...;                     // 256 secret bits, used once
//   chacha20({.key = key}, words);             // 16 blocks side by side: some bytes per cycle
//   wipe(std::as_writable_bytes(std::span(key)));
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace obol {

using ChaCha20Key = std::array<std::uint32_t, 8>;

struct ChaCha20Stream {
  ChaCha20Key key;
  std::array<std::uint32_t, 3> nonce = {};
  std::uint32_t counter = 0;  // of the first block, 16 words of 32 bits each
};

// Fills `words` from the stream's beginning. At most 2^32 blocks.
void chacha20(const ChaCha20Stream& stream, std::span<std::uint32_t> words);

}  // namespace obol
