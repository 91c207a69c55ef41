// What one thread of the GPU computes of random words: eight steps of noise, eight records to take
// or leave, the factor that clips a row. Compiled by both compilers, so that a machine without a
// GPU can test it.
//
//   double steps[8];
//   steps_of(state->key, launch, block, steps_per_unit, steps);
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>

#include "obol/base/chacha20_block.h"
#include "obol/base/host_device.h"
#include "obol/privacy/double_double.h"
#include "obol/privacy/noise_arithmetic.h"
#include "obol/privacy/noise_exact.h"

namespace obol::barrier::cuda {

constexpr int kMostParts = 512;

// Of a DeviceBits, in the device's memory.
struct BitsState {
  std::uint32_t key[8];
  std::uint64_t launch;        // the number of the next launch that draws
  std::uint32_t started;       // how many thread blocks of the present one know its number
  double squares[kMostParts];  // sums over parts of rows, between the two launches of a release
};

enum class Purpose : std::uint32_t { kNoise = 1, kDoubts = 2, kSample = 3, kTails = 4 };

constexpr int kBlockWords = 8;

OBOL_INLINE void words_of(const std::uint32_t (&key)[8], Purpose purpose, std::uint64_t launch,
                          std::uint32_t block, std::uint64_t (&words)[kBlockWords]) {
  std::uint32_t halves[16];
  chacha20_block(key, block,
                 {static_cast<std::uint32_t>(purpose), static_cast<std::uint32_t>(launch),
                  static_cast<std::uint32_t>(launch >> 32)},
                 halves);
  OBOL_UNROLL
  for (int k = 0; k < kBlockWords; ++k)
    words[k] = halves[k + k] | static_cast<std::uint64_t>(halves[k + k + 1]) << 32;
}

// A pair whose rounding is in doubt, in steps. Once in 2^18 pairs: never inlined, for the sake of
// the others' registers.
OBOL_HOST_DEVICE __attribute__((noinline)) inline privacy::NormalPair settled_pair(
    const std::uint32_t (&key)[8], std::uint64_t launch, std::uint32_t block, int pair,
    double steps_per_unit) {
  std::uint64_t high[kBlockWords];
  std::uint64_t low[kBlockWords];
  words_of(key, Purpose::kNoise, launch, block, high);
  words_of(key, Purpose::kDoubts, launch, block, low);
  const int radius = 2 * pair;
  const int angle = 2 * pair + 1;
  privacy::WideWord radius_word = {high[radius], low[radius]};
  if (privacy::extreme_radius(high[radius])) {
    // Each further word is of a purpose of its own: kTails and the numbers after it.
    auto purpose = static_cast<std::uint32_t>(Purpose::kTails);
    radius_word = privacy::lengthen_tail(radius_word, [&] {
      std::uint64_t more[kBlockWords];
      words_of(key, static_cast<Purpose>(purpose++), launch, block, more);
      return more[radius];
    });
  }
  const auto exact =
      privacy::exact_gaussian_pair<privacy::DoubleDouble>(radius_word, {high[angle], low[angle]});
  return {privacy::nearest_step(exact.first, steps_per_unit),
          privacy::nearest_step(exact.second, steps_per_unit)};
}

// The noise of eight values, in steps of the grid: what privacy::add_gaussian adds, from words of
// this block.
OBOL_INLINE void steps_of(const std::uint32_t (&key)[8], std::uint64_t launch, std::uint32_t block,
                          double steps_per_unit, double (&steps)[kBlockWords]) {
  std::uint64_t words[kBlockWords];
  words_of(key, Purpose::kNoise, launch, block, words);
  OBOL_UNROLL
  for (int i = 0; i < kBlockWords; i += 2) {
    const privacy::NormalPair draws = privacy::gaussian_pair(words[i], words[i + 1]);
    const double first = draws.first * steps_per_unit;
    const double second = draws.second * steps_per_unit;
    steps[i] = privacy::whole(first);
    steps[i + 1] = privacy::whole(second);
    if (privacy::extreme_radius(words[i]) || privacy::gaussian_near_middle(first) ||
        privacy::gaussian_near_middle(second)) {
      const privacy::NormalPair settled = settled_pair(key, launch, block, i / 2, steps_per_unit);
      steps[i] = settled.first;
      steps[i + 1] = settled.second;
    }
  }
}

// Bit k: whether the block's k-th record takes part, with probability threshold 2^-64.
OBOL_INLINE unsigned chosen_of(const std::uint32_t (&key)[8], std::uint64_t launch,
                               std::uint32_t block, std::uint64_t threshold) {
  std::uint64_t words[kBlockWords];
  words_of(key, Purpose::kSample, launch, block, words);
  unsigned chosen = 0;
  OBOL_UNROLL
  for (int k = 0; k < kBlockWords; ++k) chosen |= static_cast<unsigned>(words[k] < threshold) << k;
  return chosen;
}

// What scales a row of that norm down to `bound`, as barrier::clip_rows does: a little less, to
// allow for the rounding of the factor and of products with it in float (together 2^-23 < 1e-6;
// what is lost below the normal floats, 2^-150 a value, is nothing beside a bound above 1e-30).
// Nothing is left of a row that is not finite, nor of one so long that the factor, below the
// normal floats, would have too few digits.
OBOL_INLINE float clip_factor(double norm, double bound) {
  constexpr double kRoundingOfClip = 1e-6;
  const double limit = bound / (1 + kRoundingOfClip);
  const double factor = limit / std::fmax(norm, limit);
  return norm <= DBL_MAX && factor >= FLT_MIN ? static_cast<float>(factor) : 0.0F;
}

// A value with the noise's steps, as privacy::add_gaussian makes it, as a float. A value beyond
// `largest` counts as that.
OBOL_INLINE float noisy(double value, double steps, const privacy::NoiseGrid& grid) {
  const double fitting = std::fmin(std::fmax(value, -grid.largest), grid.largest);
  return static_cast<float>(privacy::with_steps(fitting, steps, grid.spacing, 1 / grid.spacing));
}

}  // namespace obol::barrier::cuda
