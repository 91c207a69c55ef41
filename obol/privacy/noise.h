// The noise of mechanisms, Gaussian and Laplace, safe against what floating point gives away.
//
//   add_gaussian(bits, sum, {.sensitivity = clip_norm, .noise_multiplier = 0.8});
//   add_laplace(bits, counts, {.sensitivity = 1, .scale = 2});
//   fill_gaussian(bits, draws);   // unit draws for simulations; no mechanism may add them itself
//
// Guarantee: values of that l2 (for Laplace: l1) sensitivity, given to one call of add_gaussian
// (add_laplace), are released as the mechanism with real numbers would, with the noise multiplier
// (scale over sensitivity) that the event records, every outcome up to a factor within 2^-64 of 1
// per value.
//
// Why. The sum of two doubles tells in its low bits what was added (Mironov 2012). Here both are
// whole multiples of one spacing g, a power of two between 2^-25 and 2^-24 of the noise's scale
// (for Laplace, between 2^-31 and 2^-30):
//   - The values are rounded to multiples of g. For two neighbours the results differ by at most
//     g per coordinate more than the values did, so the sensitivity grows by at most g sqrt(d) in
//     l2 and g d in l1. The noise is widened by that much (6e-5 of it, at a million values and
//     noise multiplier 1; for Laplace 1e-3), so that the multiplier is still the one asked for.
//   - The noise is rounded to a multiple of g as well. Rounding commutes with adding a multiple
//     of g, so the result is a rounding of (rounded value + noise): post-processing of the
//     mechanism on the rounded values. Both terms are below 2^52 g, so that their sum is exact.
//   - The noise rounded is that of real numbers. A draw in double precision is off by some 2^-51
//     of itself, which could change its rounding once in 2^25 draws: a draw that near to the
//     middle of two multiples (one pair of Gaussians in 2^18 is, or has an extreme word) is
//     computed again from 128 random bits, in quadruple precision, or on a GPU by pairs of doubles.
//     Where it still rounds the wrong way, it does so within 2^-98 |x| of the middle, for every
//     outcome alike: docs/guarantees/noise.md has what follows from that.
//
// A fixed seed and the same calls give the same results on every processor, with whatever
// instructions it has. Random words, and draws made of them, are wiped before a call returns.
#pragma once

#include <cstddef>
#include <span>

#include "obol/base/random.h"
#include "obol/privacy/noise_arithmetic.h"

namespace obol::privacy {

struct GaussianNoise {
  double sensitivity;       // l2: the most that one neighbour can change the values
  double noise_multiplier;  // standard deviation over sensitivity, as in the event
  // How many values the whole release has, where a call adds noise to a part of it; 0: this part
  // is the whole. Pieces that share a sensitivity must all be told of the sum of their sizes.
  std::size_t dimension = 0;
};

struct LaplaceNoise {
  double sensitivity;  // l1
  double scale;        // over the sensitivity, as in the event
  std::size_t dimension = 0;
};

// The noise that is in fact added to `dimension` values.
NoiseGrid grid_of(const GaussianNoise& noise, std::size_t dimension);
NoiseGrid grid_of(const LaplaceNoise& noise, std::size_t dimension);

// Adds the noise in place. Throws InvalidArgument, with nothing changed, if the noise cannot be
// meant. A value beyond `largest` counts as that, one that is not a number as zero. In single
// precision the result is then rounded, which is post-processing.
void add_gaussian(RandomBits& bits, std::span<double> values, const GaussianNoise& noise);
void add_gaussian(RandomBits& bits, std::span<float> values, const GaussianNoise& noise);
void add_laplace(RandomBits& bits, std::span<double> values, const LaplaceNoise& noise);
void add_laplace(RandomBits& bits, std::span<float> values, const LaplaceNoise& noise);

// Unit draws (standard deviation 1; Laplace scale 1) to a few units in the last place. They reach
// 9.49 standard deviations (44.4 scales); the mass beyond is 2^-64 (per pair of Gaussians). A pair
// of Gaussians takes two words, a Laplace draw one; the last word of an odd count is dropped.
void fill_gaussian(RandomBits& bits, std::span<double> draws);
void fill_laplace(RandomBits& bits, std::span<double> draws);

}  // namespace obol::privacy
