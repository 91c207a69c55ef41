// The two things that noise in floating point must not do: betray the value in its low bits, and
// round otherwise than real numbers would.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "obol/privacy/noise.h"
#include "obol/privacy/noise_testing.h"
#include "obol/privacy/noise_transform.h"

namespace obol::privacy {
namespace {

using test::ScriptedBits;
using testing::RecordedBits;

constexpr std::uint64_t kAllOnes = ~std::uint64_t{0};

// Mironov's attack in its plainest form. Near zero, 0 + noise has digits below 2^-53; 1 + noise is
// the difference of two numbers near 1, and has none. So a digit there says: it was 0.
bool has_digits_below_those_of_one(double output) {
  const double scaled = output * 0x1p53;
  return scaled != std::nearbyint(scaled);
}

struct Exposed {
  int looked = 0;   // outputs in the range where the attack works
  int exposed = 0;  // those that cannot have come from the value 1
};

template <class Mechanism>
Exposed attack(double value, Mechanism mechanism) {
  std::vector<double> outputs(200'000, value);
  mechanism(outputs);
  Exposed result;
  for (const double output : outputs) {
    if (std::abs(output) > 0.125) continue;
    ++result.looked;
    if (has_digits_below_those_of_one(output)) ++result.exposed;
  }
  return result;
}

TEST(LowBits, BetrayTheValueWhenDoublesAreSimplyAdded) {
  SeededBits bits(1);
  const auto naive = [&](std::vector<double>& values) {
    std::vector<double> draws(values.size());
    fill_gaussian(bits, draws);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += draws[i];
  };
  const Exposed zero = attack(0, naive);
  const Exposed one = attack(1, naive);
  EXPECT_GT(zero.looked, 10'000);
  EXPECT_GT(one.looked, 10'000);
  EXPECT_GT(zero.exposed, 0.9 * zero.looked);
  EXPECT_EQ(one.exposed, 0);
}

TEST(LowBits, TellNothingOnTheGrid) {
  SeededBits bits(1);
  const auto on_grid = [&](std::vector<double>& values) {
    add_gaussian(bits, values, {.sensitivity = 1, .noise_multiplier = 1});
  };
  const Exposed zero = attack(0, on_grid);
  const Exposed one = attack(1, on_grid);
  EXPECT_GT(zero.looked, 10'000);
  EXPECT_GT(one.looked, 10'000);
  EXPECT_EQ(zero.exposed, 0);
  EXPECT_EQ(one.exposed, 0);
}

// A value between two multiples leaves no trace either: whatever the offset, results have the same
// remainder, and their last eight binary digits are all as likely. Chi-square with 255 degrees:
// above 520 with probability below 1e-19 (Laurent and Massart 2000 with x = 44).
TEST(LowBits, AreTheSameMultiplesAndUniformForNeighbours) {
  SeededBits bits(2);
  for (const double value : {0.0, 1.0, 1.0 / 3, -0.7182818284590452}) {
    constexpr int kCount = 1 << 18;
    std::vector<double> outputs(kCount, value);
    const GaussianNoise noise = {.sensitivity = 1, .noise_multiplier = 1.5};
    add_gaussian(bits, outputs, noise);
    const double spacing = grid_of(noise, kCount).spacing;
    std::vector<double> counts(256);
    for (const double output : outputs) {
      const double steps = output / spacing;
      ASSERT_EQ(steps, std::nearbyint(steps));
      ++counts[static_cast<std::size_t>(static_cast<std::int64_t>(steps) & 255)];
    }
    double chi_square = 0;
    for (const double seen : counts)
      chi_square += (seen - kCount / 256.0) * (seen - kCount / 256.0);
    EXPECT_LT(chi_square / (kCount / 256.0), 520) << value;
  }
}

// Shifting a value by whole spacings shifts the output by exactly that, word for word: the noise
// does not look at the value.
TEST(LowBits, OfTheNoiseDoNotDependOnTheValue) {
  const GaussianNoise noise = {.sensitivity = 1, .noise_multiplier = 1};
  SeededBits bits(3);
  SeededBits same(3);
  std::vector<double> zeros(10'000);
  std::vector<double> ones(10'000, 1.0);
  add_gaussian(bits, zeros, noise);
  add_gaussian(same, ones, noise);
  for (std::size_t i = 0; i < zeros.size(); ++i) ASSERT_EQ(zeros[i] + 1, ones[i]);
}

std::int64_t nearest(Quad draw, double steps_per_unit) {
  const Quad shifted = draw * steps_per_unit + Quad{0.5};
  auto floor = static_cast<std::int64_t>(shifted);
  if (static_cast<Quad>(floor) > shifted) --floor;
  return floor;
}

// Whatever bits would follow, the exact draw rounds to what the fast one did.
TEST(Rounding, IsTheExactOneWhereverThereIsNoDoubt) {
  constexpr double kSteps = 0x1.b7p25;
  SeededBits bits(4);
  std::vector<std::uint64_t> words(40'000);
  bits.fill(words);
  for (std::size_t i = 0; i < 4000; i += 2) words[i] >>= bits.below(48);  // large radii
  for (std::size_t i = 4000; i < 8000; i += 2)
    words[i] = kAllOnes - (words[i] >> bits.below(48));  // small ones
  std::vector<double> draws(words.size());
  fastest_noise_kernel().gaussian(words, draws);
  int sure = 0;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const double scaled = draws[i] * kSteps;
    const double other = draws[i + 1] * kSteps;
    if (radius_word_in_doubt(words[i]) || gaussian_in_doubt(scaled) || gaussian_in_doubt(other))
      continue;
    ++sure;
    for (const std::uint64_t low : {std::uint64_t{0}, kAllOnes})
      for (const std::uint64_t angle_low : {std::uint64_t{0}, kAllOnes}) {
        const auto exact = exact_gaussian({words[i], low}, {words[i + 1], angle_low});
        ASSERT_EQ(nearest(exact[0], kSteps), std::llrint(scaled)) << words[i];
        ASSERT_EQ(nearest(exact[1], kSteps), std::llrint(other)) << words[i];
      }
  }
  EXPECT_GT(sure, 17'000);
}

TEST(Rounding, IsTheExactOneForLaplaceToo) {
  constexpr double kSteps = 0x1.b7p31;
  SeededBits bits(5);
  std::vector<std::uint64_t> words(40'000);
  bits.fill(words);
  for (std::size_t i = 0; i < 4000; ++i) words[i] >>= bits.below(48);
  std::vector<double> draws(words.size());
  fastest_noise_kernel().laplace(words, draws);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (exponent_word_in_doubt(words[i]) || laplace_in_doubt(draws[i] * kSteps)) continue;
    for (const std::uint64_t low : {std::uint64_t{0}, kAllOnes})
      ASSERT_EQ(nearest(exact_laplace({words[i], low}), kSteps), std::llrint(draws[i] * kSteps));
  }
}

// Every result of the mechanism, explained from the words that it took.
TEST(Rounding, TakesMoreWordsForDrawsInDoubtAndRoundsThemExactly) {
  SeededBits source(6);
  RecordedBits bits(source);
  const GaussianNoise noise = {.sensitivity = 1, .noise_multiplier = 1.2};
  const NoiseGrid grid = grid_of(noise, 1024);
  const double steps = grid.scale / grid.spacing;
  int settled = 0;
  for (int call = 0; call < 10'000; ++call) {
    std::vector<double> values(1024);
    add_gaussian(bits, values, noise);
    const auto words = bits.take();
    ASSERT_GE(words.size(), 1024U);
    std::size_t extra = 1024;
    std::vector<double> draws(1024);
    fastest_noise_kernel().gaussian(std::span(words).first(1024), draws);
    for (std::size_t i = 0; i < 1024; i += 2) {
      if (!radius_word_in_doubt(words[i]) && !gaussian_in_doubt(draws[i] * steps) &&
          !gaussian_in_doubt(draws[i + 1] * steps))
        continue;
      WideWord radius = {words[i], words.at(extra)};
      const WideWord angle = {words[i + 1], words.at(extra + 1)};
      extra += 2;
      if (radius_word_in_doubt(words[i])) radius.third = words.at(extra++);
      const auto exact = exact_gaussian(radius, angle);
      EXPECT_EQ(values[i], static_cast<double>(nearest(exact[0], steps)) * grid.spacing);
      EXPECT_EQ(values[i + 1], static_cast<double>(nearest(exact[1], steps)) * grid.spacing);
      ++settled;
    }
    ASSERT_EQ(extra, words.size());
  }
  EXPECT_GT(settled, 5);
}

// Noise multipliers for which a draw lands on the middle of two multiples, as nearly as doubles
// allow: there double precision alone is wrong about every fourth time.
TEST(Rounding, CorrectsDrawsThatDoublePrecisionRoundsWrongly) {
  SeededBits source(7);
  int corrected = 0;
  for (int trial = 0; trial < 500; ++trial) {
    const std::uint64_t radius = source() >> 1 | std::uint64_t{1} << 60;
    const std::uint64_t angle = source();
    const std::uint64_t radius_low = source();
    const std::uint64_t angle_low = source();
    const Quad exact = exact_gaussian({radius, radius_low}, {angle, angle_low})[0];
    const double steps_near = 0x1.4p24;
    const auto middle = static_cast<Quad>(nearest(exact, steps_near)) + Quad{0.5};
    GaussianNoise noise = {.sensitivity = 1,
                           .noise_multiplier = static_cast<double>(middle / exact * 0x1p-24)};
    if (!(noise.noise_multiplier > 1.1 && noise.noise_multiplier < 1.9)) continue;
    // The widening is a factor hardly above one: take it off again.
    noise.noise_multiplier /= grid_of(noise, 2).scale / noise.noise_multiplier;
    const NoiseGrid grid = grid_of(noise, 2);
    ASSERT_EQ(grid.spacing, 0x1p-24);
    const double steps = grid.scale / grid.spacing;
    ScriptedBits bits({radius, angle, radius_low, angle_low});
    std::vector<double> values(2);
    add_gaussian(bits, values, noise);
    ASSERT_EQ(values[0], static_cast<double>(nearest(exact, steps)) * grid.spacing);
    std::vector<double> draws(2);
    fastest_noise_kernel().gaussian(std::vector<std::uint64_t>{radius, angle}, draws);
    if (std::llrint(draws[0] * steps) != nearest(exact, steps)) ++corrected;
  }
  EXPECT_GT(corrected, 20);
}

}  // namespace
}  // namespace obol::privacy
