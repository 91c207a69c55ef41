// How random words become draws, and draws whole steps of a grid, in double precision: the part of
// the noise that processors and GPUs share.
//
//   NormalPair pair = gaussian_pair(words[0], words[1]);
//   double steps = whole(pair.first * steps_per_unit);   // unless gaussian_near_middle says: doubt
//
// The same bits come out everywhere, if the compiler fuses no product with a sum
// (-ffp-contract=off, for nvcc -fmad=false) and the processor rounds to nearest.
//
// The word w stands for the interval [w, w + 1) 2^-64 and its transform is that of the middle, so
// that neither 0 nor 1 occurs. A pair of Gaussians is Box and Muller's (1958), a Laplace draw the
// inverse of its distribution function, its sign from the lowest bit.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "obol/base/host_device.h"

namespace obol::privacy {

// The noise that is in fact added to a release; of grid_of in noise.h.
struct NoiseGrid {
  double spacing;  // results are multiples of it
  double scale;    // the widened standard deviation, or Laplace scale
  double largest;  // the greatest magnitude of a value that the grid takes: 2^51 spacings
};

// Random bits of a number from 0 to 1, high word first: (high, low, third) 2^-192 and another
// 2^-zero_bits. 128 bits are enough but near 0, where the number's logarithm is large and its own
// digits count: lengthen_tail.
struct WideWord {
  std::uint64_t high;
  std::uint64_t low;
  std::uint64_t third = std::uint64_t{1} << 63;
  int zero_bits = 0;
};

// Reads on until the number has at least 128 digits behind the zeros that it begins with. So the
// tails of a draw end nowhere, and are as finely drawn as its middle. `next` gives random words.
template <class Next>
OBOL_HOST_DEVICE WideWord lengthen_tail(WideWord word, Next&& next) {
  constexpr int kWordBits = 64;
  word.third = next();
  while (word.high == 0) {
    word = {word.low, word.third, next(), word.zero_bits + kWordBits};
  }
  return word;
}

struct NormalPair {
  double first;
  double second;
};

namespace arithmetic {

constexpr std::uint64_t kLowHalf = 0xffffffff;
constexpr std::uint64_t kTopBit = std::uint64_t{1} << 63;
constexpr double kTwo52 = 0x1p52;
constexpr double kTwo84 = 0x1p84;

OBOL_INLINE std::uint64_t image_of(double x) {
  std::uint64_t image = 0;
  std::memcpy(&image, &x, sizeof image);
  return image;
}

OBOL_INLINE double double_of(std::uint64_t image) {
  double x = 0;
  std::memcpy(&x, &image, sizeof x);
  return x;
}

// A 32-bit number, placed in the low bits of 2^52 or 2^84, is a double whose difference from that
// power is the number (times 2^32): no instruction set is too old for it.
OBOL_INLINE double low_part(std::uint64_t half) {
  return double_of(half | image_of(kTwo52)) - kTwo52;
}

// word + 1/2, rounded once.
OBOL_INLINE double middle_of(std::uint64_t word) {
  const double high = double_of((word >> 32) | image_of(kTwo84)) - kTwo84;
  return high + (low_part(word & kLowHalf) + 0.5);
}

// The same for a word read as a number with a sign.
OBOL_INLINE double signed_middle_of(std::uint64_t word) {
  const std::uint64_t biased = word ^ kTopBit;
  const double high = double_of((biased >> 32) | image_of(kTwo84)) - (kTwo84 + 0x1p63);
  return high + (low_part(biased & kLowHalf) + 0.5);
}

// log((word + 1/2) 2^-bits). With the word 2^k m and m within a factor sqrt(2) of 1, log m is
// 2 atanh(s), s = (m - 1) / (m + 1), whose Taylor series leaves less than 2^-59 of itself after
// s^23. The leading term m - 1 is exact, and so is k times the upper half of log 2.
OBOL_INLINE double log_of(std::uint64_t word, int bits, double unit) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcd;  // the image of sqrt(1/2)
  constexpr double kLog2High = 0x1.62e42fefp-1;
  constexpr double kLog2Low = 0x1.473de6af278edp-34;
  constexpr std::uint64_t kBias = 1024;  // keeps the exponent positive, for an unsigned shift
  const std::uint64_t image = image_of(middle_of(word));
  const std::uint64_t exponent = (image - kRootHalf + (kBias << 52)) >> 52;
  const double m = double_of(image - ((exponent - kBias) << 52));
  const double k = low_part(exponent) - (static_cast<double>(kBias) + bits);
  // Near 1 the word has digits that its double has lost; its distance from 1 has not.
  const double below_one = signed_middle_of(word | kTopBit) * unit;
  const double f = k == 0 ? below_one : m - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  double series = 2.0 / 23;
  series = series * z + 2.0 / 21;
  series = series * z + 2.0 / 19;
  series = series * z + 2.0 / 17;
  series = series * z + 2.0 / 15;
  series = series * z + 2.0 / 13;
  series = series * z + 2.0 / 11;
  series = series * z + 2.0 / 9;
  series = series * z + 2.0 / 7;
  series = series * z + 2.0 / 5;
  series = series * z + 2.0 / 3;
  // 2 s = f - s f, so that log m = f - s (f - series z): what is rounded is small beside f.
  return k * kLog2High + (f - (s * (f - series * z) - k * kLog2Low));
}

struct Turn {
  double cosine;
  double sine;
};

// Cosine and sine of 2 pi (word + 1/2) 2^-64, from the Taylor series over the quarter turn around
// the nearest multiple of pi/2; what they leave out is below 2^-60.
OBOL_INLINE Turn turn_of(std::uint64_t word) {
  constexpr double kRadians = 0x1.921fb54442d18p-62;  // 2 pi 2^-64
  const std::uint64_t quarter = (word + (std::uint64_t{1} << 61)) >> 62;
  const double t = signed_middle_of(word - (quarter << 62)) * kRadians;
  const double z = t * t;
  double sine = 1 / 355687428096000.0;
  sine = sine * z - 1 / 1307674368000.0;
  sine = sine * z + 1 / 6227020800.0;
  sine = sine * z - 1 / 39916800.0;
  sine = sine * z + 1 / 362880.0;
  sine = sine * z - 1 / 5040.0;
  sine = sine * z + 1 / 120.0;
  sine = sine * z - 1 / 6.0;
  sine = t + t * (sine * z);
  double cosine = 1 / 20922789888000.0;
  cosine = cosine * z - 1 / 87178291200.0;
  cosine = cosine * z + 1 / 479001600.0;
  cosine = cosine * z - 1 / 3628800.0;
  cosine = cosine * z + 1 / 40320.0;
  cosine = cosine * z - 1 / 720.0;
  cosine = cosine * z + 1 / 24.0;
  cosine = 1 - (0.5 * z - cosine * (z * z));
  // A quarter turn maps (c, s) to (-s, c): masks instead of branches.
  const std::uint64_t c = image_of(cosine);
  const std::uint64_t s = image_of(sine);
  const std::uint64_t swapped = (c ^ s) & (0 - (quarter & 1));
  const std::uint64_t flip_cosine = ((quarter ^ (quarter >> 1)) & 1) << 63;
  const std::uint64_t flip_sine = ((quarter >> 1) & 1) << 63;
  return {double_of(c ^ swapped ^ flip_cosine), double_of(s ^ swapped ^ flip_sine)};
}

}  // namespace arithmetic

OBOL_INLINE NormalPair gaussian_pair(std::uint64_t radius_word, std::uint64_t angle_word) {
  const double radius = std::sqrt(-2 * arithmetic::log_of(radius_word, 64, 0x1p-64));
  const arithmetic::Turn turn = arithmetic::turn_of(angle_word);
  return {radius * turn.cosine, radius * turn.sine};
}

OBOL_INLINE double laplace_draw(std::uint64_t word) {
  const double exponential = 0 - arithmetic::log_of(word >> 1, 63, 0x1p-63);
  return arithmetic::double_of(arithmetic::image_of(exponential) | word << 63);
}

// The nearest whole number, never -0, for |x| <= 2^51.
OBOL_INLINE double whole(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

// A value on the grid with the noise's steps added, exact while both are below 2^51 spacings.
// `per_spacing` is 1 / spacing, a power of two like it.
OBOL_INLINE double with_steps(double value, double steps, double spacing, double per_spacing) {
  return (whole(value * per_spacing) + steps) * spacing;
}

// Where doubts begin. A draw x in double precision is off by less than 2^-49 |x| (tests find
// 2^-50.8 |x|), and its word's interval reaches `width` to both sides, in steps.
OBOL_INLINE bool near_middle(double scaled, double width) {
  const double from_whole = std::fabs(scaled - whole(scaled));
  return from_whole > 0.5 - (width + std::fabs(scaled) * 0x1p-49);
}

// Gaussians have less than 2^26 steps a unit. For u = (w + 1/2) 2^-64 the radius r = sqrt(-2 log u)
// reaches 2^-65 / (u r) to both sides: below 2^-47.3 from u = 2^-20 on (there r = 5.27), and below
// 2^-47.9 up to u = 1 - 2^-35 (there r = 2^-17); between the two u r is larger. The angle adds
// less than 2^-59. So 2^-47 2^26 is enough, unless the radius word is an extreme one.
OBOL_INLINE bool gaussian_near_middle(double scaled) { return near_middle(scaled, 0x1p-21); }
OBOL_INLINE bool extreme_radius(std::uint64_t word) {
  constexpr std::uint64_t kTop = std::uint64_t{1} << 29;
  return word + kTop < kTop + (std::uint64_t{1} << 44);
}

// Laplace draws have less than 2^32 steps a unit. -log u reaches 2^-64 / u to both sides: at most
// 2^-50 from u = 2^-14 on.
OBOL_INLINE bool laplace_near_middle(double scaled) { return near_middle(scaled, 0x1p-18); }
OBOL_INLINE bool extreme_exponent(std::uint64_t word) { return word < (std::uint64_t{1} << 50); }

}  // namespace obol::privacy
