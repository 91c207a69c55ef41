#include "obol/privacy/double_double.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/random.h"
#include "obol/privacy/noise_exact.h"
#include "obol/privacy/noise_transform.h"

namespace obol::privacy {
namespace {

Quad quad_of(DoubleDouble x) { return static_cast<Quad>(x.high) + static_cast<Quad>(x.low); }

// In units of 2^-106. The quadruple precision it is compared with is itself off by 2^-7 of one.
double units_off(DoubleDouble found, Quad expected) {
  return std::abs(static_cast<double>((quad_of(found) - expected) / expected)) * 0x1p106;
}

double uniform(RandomBits& bits) { return static_cast<double>(bits() >> 11) * 0x1p-53 + 0x1p-54; }

// Of all magnitudes and signs, the low part anywhere below half a unit of the high one; some have
// none, and some are near to a power of two.
DoubleDouble some_number(RandomBits& bits) {
  const double size = std::ldexp(1 + uniform(bits), static_cast<int>(bits.below(60)) - 30);
  const double high = bits.below(8) == 0 ? std::ldexp(1.0, std::ilogb(size)) : size;
  const double low = bits.below(8) == 0 ? 0 : (uniform(bits) - 0.5) * high * std::ldexp(1.0, -53);
  const DoubleDouble number = double_double::ordered_sum(high, low);
  return bits.below(2) == 0 ? number : -number;
}

TEST(DoubleDouble, HasSumsProductsAndQuotientsToAFewUnits) {
  SeededBits bits(1);
  for (int i = 0; i < 200'000; ++i) {
    const DoubleDouble a = some_number(bits);
    const DoubleDouble b = some_number(bits);
    ASSERT_LT(units_off(a * b, quad_of(a) * quad_of(b)), 6) << i;
    ASSERT_LT(units_off(a / b, quad_of(a) / quad_of(b)), 10) << i;
    // Quadruple precision knows a sum that cancels less well than this does.
    const Quad sum = quad_of(a) + quad_of(b);
    if (std::abs(static_cast<double>(sum)) > 0.1 * std::abs(a.high)) {
      ASSERT_LT(units_off(a + b, sum), 4) << i;
    }
  }
}

TEST(DoubleDouble, SumsExactlyWhatCancels) {
  const DoubleDouble a(1, 0x1p-60);
  const DoubleDouble difference = a - DoubleDouble(1);
  EXPECT_EQ(difference.high, 0x1p-60);
  EXPECT_EQ(difference.low, 0);
  const DoubleDouble less = DoubleDouble(1, 0x1p-60) - DoubleDouble(1, 0x1p-61);
  EXPECT_EQ(less.high, 0x1p-61);
}

TEST(DoubleDouble, IsOrderedByBothParts) {
  EXPECT_TRUE(DoubleDouble(0.5) < DoubleDouble(0.5, 0x1p-90));
  EXPECT_FALSE(DoubleDouble(0.5, 0x1p-90) < DoubleDouble(0.5));
  EXPECT_FALSE(DoubleDouble(0.5) < DoubleDouble(0.5));
  EXPECT_TRUE(DoubleDouble(0.25, 0x1p-60) < DoubleDouble(0.5));
}

constexpr double kWorst = 256;  // units of 2^-106: the 2^-98 on which noise.h relies

// Words around every place where the transform changes its course, and random ones.
std::vector<WideWord> telling_words() {
  std::vector<WideWord> words;
  for (int place = 0; place < 64; ++place) {
    for (const int step : {-1, 0, 1}) {
      const std::uint64_t word = (std::uint64_t{1} << place) + static_cast<std::uint64_t>(step);
      for (const std::uint64_t high : {word, ~word, std::uint64_t{0xb504f333f9de6484} >> place})
        for (const std::uint64_t low : {std::uint64_t{0}, ~std::uint64_t{0}, word})
          words.push_back({high, low});
      words.push_back({0, word});
      words.push_back({~std::uint64_t{0}, ~word});
    }
  }
  SeededBits bits(2);
  for (int i = 0; i < 5000; ++i) words.push_back({bits(), bits()});
  for (int i = 0; i < 5000; ++i) words.push_back({bits() >> bits.below(64), bits()});
  return words;
}

TEST(ExactTransform, OfDoubleDoublesIsThatOfQuadruplePrecision) {
  const std::vector<WideWord> words = telling_words();
  for (std::size_t i = 0; i < words.size(); ++i) {
    const WideWord radius = words[i];
    const WideWord angle = words[i * 7919 % words.size()];
    const auto found = exact_gaussian_pair<DoubleDouble>(radius, angle);
    const auto expected = exact_gaussian_pair<Quad>(radius, angle);
    ASSERT_LT(units_off(found.first, expected.first), kWorst) << radius.high << ' ' << angle.high;
    ASSERT_LT(units_off(found.second, expected.second), kWorst) << radius.high << ' ' << angle.high;
  }
}

// The middle between two steps, as nearly as doubles allow: `steps` is such that the draw is there.
TEST(ExactTransform, RoundsDrawsNearTheMiddleAsQuadruplePrecisionDoes) {
  SeededBits bits(3);
  int compared = 0;
  for (int i = 0; i < 3000; ++i) {
    const WideWord radius = {bits(), bits()};
    const WideWord angle = {bits(), bits()};
    const Quad exact = exact_gaussian_pair<Quad>(radius, angle).first;
    const double near = std::floor(static_cast<double>(exact * Quad{0x1.4p24})) + 0.5;
    const auto steps = static_cast<double>(static_cast<Quad>(near) / exact);
    if (!(steps > 0x1p23 && steps < 0x1p26)) continue;
    ++compared;
    const DoubleDouble mine = exact_gaussian_pair<DoubleDouble>(radius, angle).first;
    ASSERT_EQ(nearest_step(mine, steps), nearest_step(exact, steps));
  }
  EXPECT_GT(compared, 2500);
}

}  // namespace
}  // namespace obol::privacy
