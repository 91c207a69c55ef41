// How random words become Gaussian and Laplace draws: fast in double precision, and slowly in
// quadruple precision. Mechanisms use noise.h, which settles every doubt of the one by the other.
//
//   const NoiseKernel& kernel = fastest_noise_kernel();
//   kernel.gaussian(words, draws);                     // words 2i, 2i+1 -> draws 2i, 2i+1
//   exact_gaussian({words[0], more}, {words[1], more}) // the same pair, to some 100 bits
// The arithmetic is in noise_arithmetic.h, which GPUs share, and in noise_exact.h.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "obol/privacy/noise_arithmetic.h"

namespace obol::privacy {

#if defined(__SIZEOF_FLOAT128__)
using Quad = __float128;
#else
using Quad = long double;  // has 113 bits on 64-bit ARM
#endif

// One translation of the same loops. They differ in speed alone: no product is fused with a sum,
// so that each gives the same bits. The processor must round to nearest, as it does unless told
// otherwise.
struct NoiseKernel {
  std::string_view name;  // "avx512", "avx2", "portable"
  // `words` and `draws` have one size, for Gaussians an even one.
  void (*gaussian)(std::span<const std::uint64_t> words, std::span<double> draws);
  void (*laplace)(std::span<const std::uint64_t> words, std::span<double> draws);
  // Rounds each draw times `steps_per_unit` (below 2^26; for Laplace 2^32) to a whole number. False
  // if the nearest whole number of one of them may be another in exact arithmetic: see below.
  bool (*round_gaussian)(std::span<const std::uint64_t> words, std::span<const double> draws,
                         double steps_per_unit, std::span<double> steps);
  bool (*round_laplace)(std::span<const std::uint64_t> words, std::span<const double> draws,
                        double steps_per_unit, std::span<double> steps);
  // values = (values rounded to multiples of spacing) + steps * spacing; exact while both are
  // below 2^51 spacings.
  void (*add_steps)(std::span<const double> steps, double spacing, std::span<double> values);
};

// Those this processor can run, the fastest first.
std::span<const NoiseKernel> noise_kernels();
const NoiseKernel& fastest_noise_kernel();

// Which draws must be settled by the slow transform: those of extreme words, and those too near to
// the middle of two whole numbers, `scaled` being a draw in steps. noise_arithmetic.h says why.
bool radius_word_in_doubt(std::uint64_t word);
bool gaussian_in_doubt(double scaled);
bool exponent_word_in_doubt(std::uint64_t word);
bool laplace_in_doubt(double scaled);

// Relative error below 2^-105, but for the width of the words' intervals.
std::array<Quad, 2> exact_gaussian(WideWord radius, WideWord angle);
Quad exact_laplace(WideWord word);
Quad exact_laplace_tail(WideWord magnitude, bool is_negative);

}  // namespace obol::privacy
