// For tests: what the GPU should have drawn, computed on the processor from ChaCha20's own words.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <openssl/evp.h>

#include "obol/barrier/cuda/arithmetic.h"
#include "obol/base/random.h"
#include "obol/privacy/noise_transform.h"

namespace obol::barrier::cuda::testing {

using ChaCha20Key = std::array<std::uint32_t, 8>;

// OpenSSL's stream: an independent implementation of the words that the GPU computes.
inline std::vector<std::uint32_t> chacha20_words(const ChaCha20Key& key, std::uint32_t first_block,
                                                 const std::array<std::uint32_t, 3>& nonce,
                                                 std::size_t blocks) {
  const std::array<std::uint32_t, 4> start = {first_block, nonce[0], nonce[1], nonce[2]};
  std::vector<std::uint32_t> words(blocks * 16);  // zeros, which the stream is added to
  auto* bytes = reinterpret_cast<unsigned char*>(words.data());
  int count = 0;
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  const bool has_worked =
      EVP_EncryptInit_ex(context, EVP_chacha20(), nullptr,
                         reinterpret_cast<const unsigned char*>(key.data()),
                         reinterpret_cast<const unsigned char*>(start.data())) == 1 &&
      EVP_EncryptUpdate(context, bytes, &count, bytes, static_cast<int>(words.size() * 4)) == 1;
  EVP_CIPHER_CTX_free(context);
  if (!has_worked) throw std::runtime_error("OpenSSL must compute ChaCha20, but did not");
  return words;
}

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
  const auto halves =
      chacha20_words(key, first_block,
                     {static_cast<std::uint32_t>(purpose), static_cast<std::uint32_t>(launch),
                      static_cast<std::uint32_t>(launch >> 32)},
                     blocks);
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
