// Compiled without contraction into fused products (the same bits everywhere) and without errno
// for square roots (which would keep the loops from being vectorised): see CMakeLists.txt.
#include "obol/privacy/noise_transform.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

namespace obol::privacy {
namespace {

// Inlined into one function per instruction set, each of which is then vectorised on its own.
#define OBOL_INLINE inline __attribute__((always_inline))

constexpr std::uint64_t kLowHalf = 0xffffffff;
constexpr double kTwo52 = 0x1p52;
constexpr double kTwo84 = 0x1p84;

// A 32-bit number, placed in the low bits of 2^52 or 2^84, is a double whose difference from that
// power is the number (times 2^32): no instruction set is too old for it.
OBOL_INLINE double low_part(std::uint64_t half) {
  return std::bit_cast<double>(half | std::bit_cast<std::uint64_t>(kTwo52)) - kTwo52;
}

// word + 1/2, rounded once.
OBOL_INLINE double middle_of(std::uint64_t word) {
  const double high =
      std::bit_cast<double>((word >> 32) | std::bit_cast<std::uint64_t>(kTwo84)) - kTwo84;
  return high + (low_part(word & kLowHalf) + 0.5);
}

// The same for a word read as a number with a sign.
OBOL_INLINE double signed_middle_of(std::uint64_t word) {
  const std::uint64_t biased = word ^ (std::uint64_t{1} << 63);
  const double high = std::bit_cast<double>((biased >> 32) | std::bit_cast<std::uint64_t>(kTwo84)) -
                      (kTwo84 + 0x1p63);
  return high + (low_part(biased & kLowHalf) + 0.5);
}

// log((word + 1/2) 2^-bits). With the word 2^k m and m within a factor sqrt(2) of 1, log m is
// 2 atanh(s), s = (m - 1) / (m + 1), whose Taylor series leaves less than 2^-59 of itself after
// s^23. The leading term m - 1 is exact, and so is k times the upper half of log 2.
OBOL_INLINE double log_of(std::uint64_t word, int bits, double unit) {
  constexpr std::uint64_t kRootHalf = std::bit_cast<std::uint64_t>(0x1.6a09e667f3bcdp-1);
  constexpr double kLog2High = 0x1.62e42fefp-1;
  constexpr double kLog2Low = 0x1.473de6af278edp-34;
  constexpr std::uint64_t kBias = 1024;  // keeps the exponent positive, for an unsigned shift
  const auto image = std::bit_cast<std::uint64_t>(middle_of(word));
  const std::uint64_t exponent = (image - kRootHalf + (kBias << 52)) >> 52;
  const double m = std::bit_cast<double>(image - ((exponent - kBias) << 52));
  const double k = low_part(exponent) - (static_cast<double>(kBias) + bits);
  // Near 1 the word has digits that its double has lost; its distance from 1 has not.
  const double below_one = signed_middle_of(word | std::uint64_t{1} << 63) * unit;
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
  const auto c = std::bit_cast<std::uint64_t>(cosine);
  const auto s = std::bit_cast<std::uint64_t>(sine);
  const std::uint64_t swapped = (c ^ s) & (0 - (quarter & 1));
  const std::uint64_t flip_cosine = ((quarter ^ (quarter >> 1)) & 1) << 63;
  const std::uint64_t flip_sine = ((quarter >> 1) & 1) << 63;
  return {std::bit_cast<double>(c ^ swapped ^ flip_cosine),
          std::bit_cast<double>(s ^ swapped ^ flip_sine)};
}

OBOL_INLINE void gaussian_loop(const std::uint64_t* __restrict words, double* __restrict draws,
                               std::size_t count) {
  for (std::size_t i = 0; i + 1 < count; i += 2) {
    const double radius = std::sqrt(-2 * log_of(words[i], 64, 0x1p-64));
    const Turn turn = turn_of(words[i + 1]);
    draws[i] = radius * turn.cosine;
    draws[i + 1] = radius * turn.sine;
  }
}

OBOL_INLINE void laplace_loop(const std::uint64_t* __restrict words, double* __restrict draws,
                              std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const double exponential = 0 - log_of(words[i] >> 1, 63, 0x1p-63);
    draws[i] = std::bit_cast<double>(std::bit_cast<std::uint64_t>(exponential) | words[i] << 63);
  }
}

// The nearest whole number, never -0, for |x| < 2^51.
OBOL_INLINE double whole(double x) {
  constexpr double kShift = 0x1.8p52;
  return (x + kShift) - kShift;
}

OBOL_INLINE bool near_a_middle(double scaled) {
  const double from_whole = std::fabs(scaled - whole(scaled));
  return from_whole > 0.5 - (0x1p-18 + std::fabs(scaled) * 0x1p-49);
}

// Below 2^-16 the logarithm is steep, above 1 - 2^-29 the square root is: there the interval of a
// word is wide.
OBOL_INLINE bool extreme_radius(std::uint64_t word) {
  constexpr std::uint64_t kTop = std::uint64_t{1} << 35;
  return word + kTop < kTop + (std::uint64_t{1} << 48);
}

// Below 2^-14, for the same reason.
OBOL_INLINE bool extreme_exponent(std::uint64_t word) { return word < (std::uint64_t{1} << 50); }

template <bool (*kExtreme)(std::uint64_t)>
OBOL_INLINE bool round_loop(const std::uint64_t* __restrict words, const double* __restrict draws,
                            double steps_per_unit, double* __restrict steps, std::size_t count,
                            std::size_t words_apart) {
  std::uint64_t doubts = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double scaled = draws[i] * steps_per_unit;
    steps[i] = whole(scaled);
    doubts |= static_cast<std::uint64_t>(near_a_middle(scaled));
  }
  for (std::size_t i = 0; i < count; i += words_apart)
    doubts |= static_cast<std::uint64_t>(kExtreme(words[i]));
  return doubts == 0;
}

OBOL_INLINE void add_loop(const double* __restrict steps, double spacing, double* __restrict values,
                          std::size_t count) {
  const double per_spacing = 1 / spacing;  // a power of two: exact
  for (std::size_t i = 0; i < count; ++i)
    values[i] = (whole(values[i] * per_spacing) + steps[i]) * spacing;
}

using Words = std::span<const std::uint64_t>;
using Doubles = std::span<const double>;

// One set of functions per instruction set. A macro, because the attribute belongs to a function
// and a template cannot have it as a parameter.
#define OBOL_NOISE_KERNEL(suffix, ...)                                                            \
  __VA_ARGS__ void gaussian_##suffix(Words words, std::span<double> draws) {                      \
    gaussian_loop(words.data(), draws.data(), draws.size());                                      \
  }                                                                                               \
  __VA_ARGS__ void laplace_##suffix(Words words, std::span<double> draws) {                       \
    laplace_loop(words.data(), draws.data(), draws.size());                                       \
  }                                                                                               \
  __VA_ARGS__ bool round_gaussian_##suffix(Words words, Doubles draws, double steps_per_unit,     \
                                           std::span<double> steps) {                             \
    return round_loop<extreme_radius>(words.data(), draws.data(), steps_per_unit, steps.data(),   \
                                      steps.size(), 2);                                           \
  }                                                                                               \
  __VA_ARGS__ bool round_laplace_##suffix(Words words, Doubles draws, double steps_per_unit,      \
                                          std::span<double> steps) {                              \
    return round_loop<extreme_exponent>(words.data(), draws.data(), steps_per_unit, steps.data(), \
                                        steps.size(), 1);                                         \
  }                                                                                               \
  __VA_ARGS__ void add_##suffix(Doubles steps, double spacing, std::span<double> values) {        \
    add_loop(steps.data(), spacing, values.data(), values.size());                                \
  }                                                                                               \
  NoiseKernel kernel_##suffix() {                                                                 \
    return {#suffix,                                                                              \
            gaussian_##suffix,                                                                    \
            laplace_##suffix,                                                                     \
            round_gaussian_##suffix,                                                              \
            round_laplace_##suffix,                                                               \
            add_##suffix};                                                                        \
  }

OBOL_NOISE_KERNEL(portable)
#if defined(__x86_64__)
OBOL_NOISE_KERNEL(avx2, __attribute__((target("avx2"))))
OBOL_NOISE_KERNEL(avx512, __attribute__((target("avx512f,avx512dq,avx512vl"))))
#endif

std::vector<NoiseKernel> kernels_of_this_processor() {
  std::vector<NoiseKernel> kernels;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    kernels.push_back(kernel_avx512());
  if (__builtin_cpu_supports("avx2")) kernels.push_back(kernel_avx2());
#endif
  kernels.push_back(kernel_portable());
  return kernels;
}

}  // namespace

std::span<const NoiseKernel> noise_kernels() {
  static const std::vector<NoiseKernel> kKernels = kernels_of_this_processor();
  return kKernels;
}

const NoiseKernel& fastest_noise_kernel() { return noise_kernels().front(); }

bool radius_word_in_doubt(std::uint64_t word) { return extreme_radius(word); }
bool exponent_word_in_doubt(std::uint64_t word) { return extreme_exponent(word); }
bool draw_in_doubt(double scaled) { return near_a_middle(scaled); }

}  // namespace obol::privacy
