#include "obol/privacy/noise.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/privacy/noise_transform.h"

namespace obol::privacy {
namespace {

constexpr std::uint64_t kAllOnesWord = ~std::uint64_t{0};
constexpr std::uint64_t kMiddle = std::uint64_t{1} << 63;

// Words around every place where the transform changes its course, and random ones.
std::vector<std::uint64_t> telling_words(std::size_t random) {
  std::vector<std::uint64_t> words;
  for (int place = 0; place < 64; ++place)
    for (const int step : {-2, -1, 0, 1, 2}) {
      words.push_back((std::uint64_t{1} << place) + static_cast<std::uint64_t>(step));
      words.push_back(kAllOnesWord - words.back());
      words.push_back((std::uint64_t{0xb504f333f9de6484} >> place) +
                      static_cast<std::uint64_t>(step));
    }
  SeededBits bits(1);
  for (std::size_t i = 0; i < random; ++i) words.push_back(bits());
  for (std::size_t i = 0; i < random; ++i) words.push_back(bits() >> bits.below(64));
  words.resize(words.size() / 2 * 2);
  return words;
}

// As (radius, angle): every word in both places, in another order.
std::vector<std::uint64_t> telling_pairs() {
  const auto radii = telling_words(20'000);
  std::vector<std::uint64_t> pairs;
  for (std::size_t i = 0; i < radii.size(); ++i) {
    pairs.push_back(radii[i]);
    pairs.push_back(radii[i * 7919 % radii.size()]);
  }
  return pairs;
}

double relative_error(double fast, Quad exact) {
  return std::abs(static_cast<double>((static_cast<Quad>(fast) - exact) / exact));
}

// Units of 2^-53. The loops of noise.h rely on 16.
constexpr double kWorstNoise = 6 * 0x1p-53;

TEST(NoiseTransform, GivesGaussiansWithinAFewUnitsOfTheExactOnes) {
  const auto words = telling_pairs();
  std::vector<double> draws(words.size());
  fastest_noise_kernel().gaussian(words, draws);
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const auto exact = exact_gaussian({words[i], kMiddle}, {words[i + 1], kMiddle});
    ASSERT_LT(relative_error(draws[i], exact[0]), kWorstNoise) << words[i] << ' ' << words[i + 1];
    ASSERT_LT(relative_error(draws[i + 1], exact[1]), kWorstNoise)
        << words[i] << ' ' << words[i + 1];
  }
}

TEST(NoiseTransform, GivesLaplaceDrawsWithinAFewUnitsOfTheExactOnes) {
  const auto words = telling_words(50'000);
  std::vector<double> draws(words.size());
  fastest_noise_kernel().laplace(words, draws);
  for (std::size_t i = 0; i < words.size(); ++i)
    ASSERT_LT(relative_error(draws[i], exact_laplace({words[i], kMiddle})), kWorstNoise)
        << words[i];
}

// The slow transform is itself compared with the standard library's, which has fewer digits.
TEST(NoiseTransform, IsBoxAndMullersFormulaWhenExact) {
  const auto words = telling_pairs();
  constexpr long double kPi = 3.14159265358979323846264338327950288L;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const long double u = (static_cast<long double>(words[i]) + 0.5L) * 0x1p-64L;
    const long double v = (static_cast<long double>(words[i + 1]) + 0.5L) * 0x1p-64L;
    if (u > 0.99L) continue;  // where 64 bits of mantissa are too few for log(u)
    const long double radius = std::sqrt(-2 * std::log(u));
    const auto exact = exact_gaussian({words[i], kMiddle}, {words[i + 1], kMiddle});
    ASSERT_NEAR(static_cast<double>(exact[0] - radius * std::cos(2 * kPi * v)), 0, 2e-17);
    ASSERT_NEAR(static_cast<double>(exact[1] - radius * std::sin(2 * kPi * v)), 0, 2e-17);
  }
}

TEST(NoiseTransform, IsTheInverseOfLaplacesDistributionWhenExact) {
  for (const std::uint64_t word : telling_words(10'000)) {
    const long double u = (static_cast<long double>(word >> 1) + 0.5L) * 0x1p-63L;
    if (u > 0.99L) continue;
    const long double expected = word % 2 == 1 ? std::log(u) : -std::log(u);
    ASSERT_NEAR(static_cast<double>(exact_laplace({word, kMiddle}) - expected), 0, 2e-17);
  }
}

TEST(NoiseTransform, HasFiniteDrawsAtTheExtremeWords) {
  const std::vector<std::uint64_t> words = {
      0, 0, kAllOnesWord, kAllOnesWord, 0, kAllOnesWord, kAllOnesWord, 0};
  std::vector<double> draws(words.size());
  fastest_noise_kernel().gaussian(words, draws);
  EXPECT_NEAR(draws[0], 9.4926, 1e-4);
  EXPECT_NEAR(draws[2], 0x1p-32, 1e-12);
  EXPECT_GT(draws[1], 0);
  EXPECT_EQ(draws[5], -draws[1]);  // the angles lie evenly about zero
  fastest_noise_kernel().laplace(words, draws);
  EXPECT_NEAR(draws[0], 44.3614, 1e-4);
  EXPECT_LT(draws[2], 0);
}

TEST(NoiseTransform, GivesTheSameBitsWithAllInstructionSets) {
  const auto words = telling_pairs();
  std::vector<double> first(words.size());
  std::vector<double> other(words.size());
  for (const NoiseKernel& kernel : noise_kernels()) {
    for (const auto transform : {&NoiseKernel::gaussian, &NoiseKernel::laplace}) {
      (fastest_noise_kernel().*transform)(words, first);
      (kernel.*transform)(words, other);
      for (std::size_t i = 0; i < words.size(); ++i)
        ASSERT_EQ(std::bit_cast<std::uint64_t>(first[i]), std::bit_cast<std::uint64_t>(other[i]))
            << kernel.name << ", word " << words[i];
    }
  }
}

TEST(NoiseTransform, DoubtsTheSameDrawsWithAllInstructionSets) {
  SeededBits bits(2);
  std::array<std::uint64_t, 64> words{};
  std::array<double, 64> draws{};
  std::array<double, 64> steps{};
  int doubted = 0;
  for (int i = 0; i < 150'000; ++i) {
    bits.fill(words);
    fastest_noise_kernel().gaussian(words, draws);
    const bool sure = fastest_noise_kernel().round_gaussian(words, draws, 0x1.8p25, steps);
    doubted += sure ? 0 : 1;
    for (const NoiseKernel& kernel : noise_kernels())
      ASSERT_EQ(kernel.round_gaussian(words, draws, 0x1.8p25, steps), sure) << kernel.name;
  }
  EXPECT_GT(doubted, 10);
}

TEST(FillGaussian, DoesNotDependOnHowEvenCountsAreSplit) {
  SeededBits whole(3);
  SeededBits parts(3);
  std::vector<double> draws(5000);
  fill_gaussian(whole, draws);
  std::vector<double> again(5000);
  fill_gaussian(parts, std::span(again).first(2));
  fill_gaussian(parts, std::span(again).subspan(2, 3000));
  fill_gaussian(parts, std::span(again).subspan(3002));
  EXPECT_EQ(draws, again);
}

TEST(FillGaussian, FillsOddCountsAndNone) {
  SeededBits bits(4);
  SeededBits same(4);
  for (const std::size_t count : {0, 1, 3, 1023, 1025}) {
    std::vector<double> draws(count + 1);
    fill_gaussian(bits, std::span(draws).first(count));
    EXPECT_EQ(draws.back(), 0) << "wrote past the end";
    EXPECT_EQ(std::count(draws.begin(), draws.end(), 0.0), 1);
    std::vector<double> longer(count + count % 2);
    fill_gaussian(same, longer);
    EXPECT_TRUE(std::equal(draws.begin(), draws.end() - 1, longer.begin()));
  }
}

bool is_whole(double x) { return x == std::nearbyint(x); }

void expect_bits_below(const NoiseGrid& grid, int bits) {
  EXPECT_EQ(std::exp2(std::ilogb(grid.spacing)), grid.spacing);
  EXPECT_GE(grid.spacing, std::ldexp(grid.scale, -bits - 1));
  EXPECT_LE(grid.spacing, std::ldexp(grid.scale, -bits));
  EXPECT_EQ(grid.largest, 0x1p51 * grid.spacing);
}

TEST(NoiseGrid, IsAPowerOfTwo24Or30BitsBelowTheNoise) {
  for (const double sensitivity : {1e-100, 0.3, 1.0, 7e9, 1e100}) {
    expect_bits_below(grid_of(GaussianNoise{sensitivity, 1.1}, 1000), 24);
    expect_bits_below(grid_of(LaplaceNoise{sensitivity, 1.1}, 1000), 30);
  }
}

TEST(NoiseGrid, WidensTheNoiseByWhatRoundingAddsToTheSensitivity) {
  constexpr std::size_t kMany = 1'000'000;
  const NoiseGrid gaussian = grid_of(GaussianNoise{2, 3}, kMany);
  EXPECT_GE(gaussian.scale, 3 * (2 + gaussian.spacing * 1000));
  EXPECT_LT(gaussian.scale, 6 * (1 + 2e-4));
  const NoiseGrid laplace = grid_of(LaplaceNoise{2, 3}, kMany);
  EXPECT_GE(laplace.scale, 3 * (2 + laplace.spacing * kMany));
  EXPECT_LT(laplace.scale, 6 * (1 + 3e-3));
}

TEST(NoiseGrid, IsThatOfTheWholeReleaseForAPartOfIt) {
  const GaussianNoise part = {.sensitivity = 1, .noise_multiplier = 1, .dimension = 4'000'000};
  std::vector<double> values(10);
  SeededBits bits(5);
  add_gaussian(bits, values, part);
  SeededBits same(5);
  std::vector<double> draws(10);
  fill_gaussian(same, draws);
  const double scale = grid_of(part, 4'000'000).scale;
  EXPECT_GT(scale, 1 + 1.1e-4);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_NEAR(values[i], draws[i] * scale, 0x1p-25);
}

template <class Noise, class Add>
void expect_multiples(const Noise& noise, Add add) {
  SecureBits bits;
  SeededBits inputs(6);
  std::vector<double> values(100'000);
  fill_laplace(inputs, values);
  const NoiseGrid grid = grid_of(noise, values.size());
  add(bits, values, noise);
  for (const double value : values) {
    ASSERT_TRUE(is_whole(value / grid.spacing));
    ASSERT_FALSE(value == 0 && std::signbit(value)) << "the sign of a zero tells something";
  }
}

TEST(AddedNoise, LeavesMultiplesOfTheSpacing) {
  for (const double multiplier : {0.01, 0.8, 300.0}) {
    expect_multiples(GaussianNoise{1, multiplier},
                     [](auto& bits, std::span<double> values, const auto& noise) {
                       add_gaussian(bits, values, noise);
                     });
    expect_multiples(LaplaceNoise{1, multiplier},
                     [](auto& bits, std::span<double> values, const auto& noise) {
                       add_laplace(bits, values, noise);
                     });
  }
}

TEST(AddedNoise, IsThatOfTheDrawsToHalfASpacing) {
  SeededBits bits(7);
  SeededBits same(7);
  std::vector<double> values(1000, 0.125);
  std::vector<double> draws(1000);
  const GaussianNoise noise = {0.5, 2};
  add_gaussian(bits, values, noise);
  fill_gaussian(same, draws);
  const NoiseGrid grid = grid_of(noise, 1000);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_NEAR(values[i], 0.125 + grid.scale * draws[i], 0.5001 * grid.spacing);
}

TEST(AddedNoise, InSinglePrecisionIsTheDoubleOneRounded) {
  SeededBits bits(8);
  SeededBits same(8);
  std::vector<float> values(5001, 0.25F);
  std::vector<double> wide(5001, 0.25);
  add_gaussian(bits, std::span(values), {1, 0.5});
  add_gaussian(same, std::span(wide), {1, 0.5});
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<float>(wide[i]));
  add_laplace(bits, std::span(values), {1, 0.5});
  std::vector<double> rounded(wide.size());
  std::transform(wide.begin(), wide.end(), rounded.begin(),
                 [](double x) { return static_cast<double>(static_cast<float>(x)); });
  add_laplace(same, std::span(rounded), {1, 0.5});
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(values[i], static_cast<float>(rounded[i]));
}

TEST(AddedNoise, RefusesNoiseThatCannotBeMeant) {
  SeededBits bits(9);
  std::vector<double> values(3, 1.0);
  const std::vector<double> before = values;
  for (const double wrong : {0.0, -1.0, std::numeric_limits<double>::infinity(),
                             std::numeric_limits<double>::quiet_NaN(), 1e-300, 1e300}) {
    EXPECT_THROW(add_gaussian(bits, values, {wrong, 1}), InvalidArgument) << wrong;
    EXPECT_THROW(add_gaussian(bits, values, {1, wrong}), InvalidArgument) << wrong;
    EXPECT_THROW(add_laplace(bits, values, {wrong, 1}), InvalidArgument) << wrong;
    EXPECT_THROW(add_laplace(bits, values, {1, wrong}), InvalidArgument) << wrong;
  }
  EXPECT_THROW(add_gaussian(bits, values, {1, 1, 2}), InvalidArgument);
  EXPECT_THROW((void)grid_of(LaplaceNoise{1, 1}, std::size_t{1} << 40), InvalidArgument);
  EXPECT_EQ(values, before);
}

// An error would tell that such a value is there.
TEST(AddedNoise, TakesValuesOffTheGridForTheNearestOnIt) {
  const GaussianNoise noise = {1, 1};
  const double largest = grid_of(noise, 2).largest;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<std::pair<double, double>> cases = {
      {std::nextafter(largest, 2 * largest), largest},
      {-1e300, -largest},
      {kInfinity, largest},
      {std::numeric_limits<double>::quiet_NaN(), 0}};
  for (const auto& [given, meant] : cases) {
    SeededBits bits(10);
    SeededBits same(10);
    std::vector<double> values = {5, given};
    std::vector<double> expected = {5, meant};
    add_gaussian(bits, values, noise);
    add_gaussian(same, expected, noise);
    EXPECT_EQ(values, expected) << given;
  }
}

// Words that begin with zeros: the draws go on growing as the law of the tail says.
TEST(NoiseTransform, HasTailsThatEndNowhere) {
  for (int zeros = 0; zeros < 12; ++zeros) {
    int left = zeros;
    std::uint64_t next = 0x9e3779b97f4a7c15;
    const auto word = [&]() -> std::uint64_t { return left-- > 0 ? 0 : next *= 3; };
    WideWord radius = {word(), word()};
    radius = lengthen_tail(radius, word);
    EXPECT_NE(radius.high, 0U);
    EXPECT_EQ(radius.zero_bits, 64 * zeros);
    const auto pair = exact_gaussian(radius, {0, 0});
    const double log =
        std::log(static_cast<double>(radius.high)) - 64 * (zeros + 1) * std::log(2.0);
    const auto first = static_cast<double>(pair[0]);
    EXPECT_NEAR(first, std::sqrt(-2 * log), 1e-9);
    const auto far = static_cast<double>(exact_laplace_tail(radius, true));
    EXPECT_NEAR(far, log - 63 * std::log(2.0), 1e-9);
  }
}

// Behind word 1 of a radius, 64 further bits would leave a draw 2^-42 of a step wide; the third
// word divides that, as far as 113 bits can tell.
TEST(NoiseTransform, DrawsTheTailAsFinelyAsTheMiddle) {
  const auto at = [](std::uint64_t third) { return exact_gaussian({1, 0, third}, {0, 0})[0]; };
  const auto apart = static_cast<double>(at(0) - at(std::uint64_t{1} << 32));
  EXPECT_GT(apart, 0);
  EXPECT_LT(apart * 0x1p26, 0x1p-70);
}

}  // namespace
}  // namespace obol::privacy
