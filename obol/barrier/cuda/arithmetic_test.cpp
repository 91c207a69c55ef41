// What the GPU's threads compute, on a processor.
#include "obol/barrier/cuda/arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "obol/barrier/cuda/testing.h"
#include "obol/privacy/noise.h"

namespace obol::barrier::cuda {
namespace {

using testing::ChaCha20Key;
using testing::expected_steps;
using testing::expected_words;
using testing::key_of_seed;

constexpr std::uint64_t kLaunch = 0x123456789abcdef;

struct Key {
  explicit Key(const ChaCha20Key& key) { std::copy(key.begin(), key.end(), words); }
  std::uint32_t words[8];
};

TEST(DeviceWords, AreThoseOfChaCha20) {
  const ChaCha20Key key = key_of_seed(1);
  for (const Purpose purpose : {Purpose::kNoise, Purpose::kDoubts, Purpose::kSample}) {
    const auto expected = expected_words(key, purpose, kLaunch, 100, 50);
    for (std::uint32_t block = 0; block < 50; ++block) {
      std::uint64_t words[kBlockWords];
      words_of(Key(key).words, purpose, kLaunch, 100 + block, words);
      EXPECT_TRUE(std::equal(words, words + kBlockWords,
                             expected.begin() + std::ptrdiff_t{block} * kBlockWords));
    }
  }
}

int settled_among(std::size_t blocks, double steps_per_unit) {
  const ChaCha20Key key = key_of_seed(2);
  const auto expected = expected_steps(key, kLaunch, 7, blocks, steps_per_unit);
  for (std::size_t block = 0; block < blocks; ++block) {
    double steps[kBlockWords];
    steps_of(Key(key).words, kLaunch, static_cast<std::uint32_t>(7 + block), steps_per_unit, steps);
    for (std::size_t k = 0; k < kBlockWords; ++k)
      EXPECT_EQ(steps[k], expected.steps[block * kBlockWords + k]) << block << ' ' << k;
  }
  return expected.settled;
}

TEST(DeviceSteps, AreThoseOfTheProcessor) { settled_among(50'000, 0x1.4p25); }

// With far more steps than a grid has, many draws are in doubt.
TEST(DeviceSteps, AreThoseOfQuadruplePrecisionWhereInDoubt) {
  EXPECT_GT(settled_among(20'000, 0x1.4p36), 20);
}

TEST(DeviceSample, TakesTheWordsBelowTheThreshold) {
  const ChaCha20Key key = key_of_seed(3);
  const std::uint64_t threshold = std::uint64_t{3} << 62;
  const auto words = expected_words(key, Purpose::kSample, kLaunch, 0, 100);
  for (std::uint32_t block = 0; block < 100; ++block) {
    const unsigned chosen = chosen_of(Key(key).words, kLaunch, block, threshold);
    for (std::uint32_t k = 0; k < 8; ++k)
      EXPECT_EQ(chosen >> k & 1, words[block * 8 + k] < threshold ? 1U : 0U);
  }
}

double norm_of(const std::vector<float>& values, float factor) {
  double squares = 0;
  for (const float value : values) {
    const auto scaled = static_cast<double>(value * factor);
    squares += scaled * scaled;
  }
  return std::sqrt(squares);
}

TEST(ClipFactor, KeepsTheNormWithinTheBoundWhateverTheRow) {
  SeededBits bits(4);
  int above = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double bound = std::ldexp(1.0 + 0.1 * static_cast<double>(bits.below(10)),
                                    static_cast<int>(bits.below(60)) - 30);
    const int exponent = static_cast<int>(bits.below(270)) - 145;
    std::vector<float> values(1 + bits.below(20));
    for (float& value : values)
      value = std::ldexp(static_cast<float>(bits.below(1U << 24)) * 0x1p-23F - 1, exponent);
    const double before = norm_of(values, 1);
    const float factor = clip_factor(before, bound);
    // Floats below the normal ones are whole multiples of 2^-149.
    ASSERT_LE(norm_of(values, factor), bound + 0x1p-140) << before << ' ' << bound;
    if (before <= bound / 1.00001) {
      ASSERT_EQ(factor, 1);
    }
    if (before > bound && factor != 0) {
      ++above;
      ASSERT_GE(factor * before, bound * 0.999998);
    }
  }
  EXPECT_GT(above, 5000);
}

TEST(ClipFactor, LeavesNothingOfRowsThatAreNotFinite) {
  EXPECT_EQ(clip_factor(std::numeric_limits<double>::infinity(), 1), 0);
  EXPECT_EQ(clip_factor(std::numeric_limits<double>::quiet_NaN(), 1), 0);
  EXPECT_EQ(clip_factor(0, 1), 1);
}

TEST(NoisyFloat, IsTheSumOnTheGridRoundedOnce) {
  const privacy::NoiseGrid grid =
      privacy::grid_of(privacy::GaussianNoise{.sensitivity = 1, .noise_multiplier = 0.7}, 10);
  EXPECT_EQ(noisy(0, 3, grid), static_cast<float>(3 * grid.spacing));
  EXPECT_EQ(noisy(0.3F, 12345, grid),
            static_cast<float>((std::nearbyint(static_cast<double>(0.3F) / grid.spacing) + 12345) *
                               grid.spacing));
  EXPECT_EQ(noisy(1e30F, 0, grid), static_cast<float>(grid.largest));
  EXPECT_EQ(noisy(-1e30F, 0, grid), static_cast<float>(-grid.largest));
}

}  // namespace
}  // namespace obol::barrier::cuda
