#include "obol/base/chacha20.h"

#include <algorithm>
#include <cstddef>

#include "obol/base/error.h"
#include "obol/base/random.h"

namespace obol {
namespace {

constexpr std::size_t kLanes = 16;  // blocks side by side
constexpr std::size_t kBlock = 16;  // words
using Lanes = std::uint32_t __attribute__((vector_size(kLanes * sizeof(std::uint32_t))));
using State = std::array<Lanes, kBlock>;

[[gnu::always_inline]] inline void add_xor_turn(Lanes& a, const Lanes& b, Lanes& d, int by) {
  a += b;
  d ^= a;
  d = (d << by) | (d >> (32 - by));
}

[[gnu::always_inline]] inline void quarter_round(State& s, int a, int b, int c, int d) {
  add_xor_turn(s[a], s[b], s[d], 16);
  add_xor_turn(s[c], s[d], s[b], 12);
  add_xor_turn(s[a], s[b], s[d], 8);
  add_xor_turn(s[c], s[d], s[b], 7);
}

// `start` is left with what the blocks are made of.
#if defined(__x86_64__) && !defined(__clang__)
__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
void rounds(State& start) {
  State s = start;
  for (int round = 0; round < 10; ++round) {
    for (int k = 0; k < 4; ++k) quarter_round(s, k, k + 4, k + 8, k + 12);
    for (int k = 0; k < 4; ++k)
      quarter_round(s, k, 4 + (k + 1) % 4, 8 + (k + 2) % 4, 12 + (k + 3) % 4);
  }
  for (std::size_t k = 0; k < kBlock; ++k) start[k] += s[k];
}

void fill(Lanes& lanes, std::uint32_t word) { lanes = word - Lanes{}; }

State begin(const ChaCha20Stream& stream, std::uint32_t counter) {
  constexpr std::array<std::uint32_t, 4> kConstants = {0x61707865, 0x3320646e, 0x79622d32,
                                                       0x6b206574};
  State state;
  for (std::size_t k = 0; k < 4; ++k) fill(state[k], kConstants[k]);
  for (std::size_t k = 0; k < 8; ++k) fill(state[4 + k], stream.key[k]);
  for (std::size_t k = 0; k < 3; ++k) fill(state[13 + k], stream.nonce[k]);
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    state[12][lane] = counter + static_cast<std::uint32_t>(lane);
  return state;
}

}  // namespace

void chacha20(const ChaCha20Stream& stream, std::span<std::uint32_t> words) {
  constexpr std::size_t kMost = (std::size_t{1} << 32) * kBlock;
  if (words.size() > kMost)
    throw InvalidArgument(violation("the words of one stream", "at most 2^36", words.size()));
  State state;
  std::uint32_t counter = stream.counter;
  while (!words.empty()) {
    state = begin(stream, counter);
    rounds(state);
    const std::size_t count = std::min(words.size(), kLanes * kBlock);
    for (std::size_t k = 0; k < count; ++k) words[k] = state[k % kBlock][k / kBlock];
    words = words.subspan(count);
    counter += kLanes;
  }
  wipe(std::as_writable_bytes(std::span(state)));
}

}  // namespace obol
