// The filters of scattering.h in double precision, and their folded form for the CPU kernel. No
// LibTorch.
//
// A Morlet wavelet of angle t is, with u = x cos t + y sin t and v = y cos t - x sin t,
//
//   psi(x, y) = (slant / (2 pi spread^2)) e(u, v) (exp(i frequency u) - c),
//   e(u, v) = exp(-(u^2 + slant^2 v^2) / (2 spread^2)),
//
// with c such that its taps sum to zero. At scale j the spread is 0.8 * 2^j, the frequency
// 0.75 pi / 2^j and the slant 1/2 (Bruna and Mallat 2013; Oyallon and Mallat 2015).
#pragma once

#include <cstddef>
#include <vector>

namespace obol::features {

inline constexpr std::size_t kAngles = 8;
// A modulus is sqrt(re^2 + im^2 + kSmoothing), which has a gradient at zero.
inline constexpr float kSmoothing = 1e-12F;

// The wavelets of one scale, for angles k pi / 8, as correlations: taps x taps around the centre.
struct Wavelets {
  std::size_t taps;
  std::vector<double> real;       // [angles, taps, taps]
  std::vector<double> imaginary;  // the same
};

struct ScatteringFilters {
  Wavelets fine;                   // 9 x 9
  Wavelets coarse;                 // 18 x 18
  std::vector<double> low;         // [12], one dimension of the low pass at full resolution
  std::vector<double> low_halved;  // [8], the same at half the resolution
};

ScatteringFilters scattering_filters();

// Wavelets by their symmetries. The real parts are even about the centre, the imaginary parts odd,
// and the mirror image of angle k is angle 8 - k. So the four pixels at (+-x, +-y) are first
// combined into four sums and differences, which all angles share, and then need one product for
// each of 16 numbers instead of 64.
struct FoldedWavelets {
  static constexpr std::size_t kEven = 8;  // 5 with the sum of both mirror images, 3 with the
  static constexpr std::size_t kOdd = 8;   // difference; here 4 and 4
  static constexpr std::size_t kEvenSums = 5;
  static constexpr std::size_t kOddSums = 4;
  static constexpr std::size_t kWeights = kEven + kOdd;

  std::size_t taps;
  std::size_t half;            // quadrants are half x half
  std::vector<float> weights;  // [half, half, kWeights]
};

FoldedWavelets folded(const Wavelets& wavelets);

}  // namespace obol::features
