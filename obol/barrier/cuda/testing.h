// For tests: what the GPU should have drawn, computed on the processor from ChaCha20's own words.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "obol/barrier/cuda/arithmetic.h"
#include "obol/base/chacha20.h"
#include "obol/base/random.h"
#include "obol/privacy/noise_transform.h"

namespace obol::barrier::cuda::testing {

// That of DeviceBits(bits).
inline ChaCha20Key key_of(RandomBits& bits) {
  ChaCha20Key key{};
  for (std::size_t k = 0; k < key.size(); k += 2) {
    const std::uint64_t word = bits();
    key[k] = static_cast<std::uint32_t>(word);
    key[k + 1] = static_cast<std::uint32_t>(word >> 32);
  }
  return key;
}

inline ChaCha20Key key_of_seed(std::uint64_t seed) {
  SeededBits bits(seed);
  return key_of(bits);
}

inline std::vector<std::uint64_t> expected_words(const ChaCha20Key& key, Purpose purpose,
                                                 std::uint64_t launch, std::uint32_t first_block,
                                                 std::size_t blocks) {
  std::vector<std::uint32_t> halves(blocks * 16);
  chacha20({.key = key,
            .nonce = {static_cast<std::uint32_t>(purpose), static_cast<std::uint32_t>(launch),
                      static_cast<std::uint32_t>(launch >> 32)},
            .counter = first_block},
           halves);
  std::vector<std::uint64_t> words(blocks * kBlockWords);
  for (std::size_t k = 0; k < words.size(); ++k)
    words[k] = halves[2 * k] | static_cast<std::uint64_t>(halves[2 * k + 1]) << 32;
  return words;
}

struct ExpectedSteps {
  std::vector<double> steps;
  int settled = 0;  // pairs that were in doubt
};

// By the processor's kernels, and quadruple precision.
inline ExpectedSteps expected_steps(const ChaCha20Key& key, std::uint64_t launch,
                                    std::uint32_t first_block, std::size_t blocks,
                                    double steps_per_unit) {
  const auto words = expected_words(key, Purpose::kNoise, launch, first_block, blocks);
  const auto low = expected_words(key, Purpose::kDoubts, launch, first_block, blocks);
  ExpectedSteps expected;
  std::vector<double> draws(words.size());
  privacy::fastest_noise_kernel().gaussian(words, draws);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const double first = draws[i] * steps_per_unit;
    const double second = draws[i + 1] * steps_per_unit;
    if (privacy::radius_word_in_doubt(words[i]) || privacy::gaussian_in_doubt(first) ||
        privacy::gaussian_in_doubt(second)) {
      const auto exact = privacy::exact_gaussian({words[i], low[i]}, {words[i + 1], low[i + 1]});
      for (const privacy::Quad draw : exact)
        expected.steps.push_back(privacy::nearest_step(draw, steps_per_unit));
      ++expected.settled;
    } else {
      expected.steps.push_back(std::nearbyint(first) + 0.0);
      expected.steps.push_back(std::nearbyint(second) + 0.0);
    }
  }
  return expected;
}

}  // namespace obol::barrier::cuda::testing
