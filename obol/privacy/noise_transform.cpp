// Compiled without contraction into fused products (the same bits everywhere) and without errno
// for square roots (which would keep the loops from being vectorised): see CMakeLists.txt.
#include "obol/privacy/noise_transform.h"

#include <cstddef>
#include <vector>

#include "obol/base/instruction_sets.h"

namespace obol::privacy {
namespace {

using Words = std::span<const std::uint64_t>;
using Doubles = std::span<const double>;

#define OBOL_KERNEL "obol/privacy/noise_kernel.inc"
#include "obol/base/instruction_sets.inc"

}  // namespace

std::span<const NoiseKernel> noise_kernels() {
  static const std::vector<NoiseKernel> kKernels = OBOL_KERNELS(kernel());
  return kKernels;
}

const NoiseKernel& fastest_noise_kernel() { return noise_kernels().front(); }

bool radius_word_in_doubt(std::uint64_t word) { return extreme_radius(word); }
bool exponent_word_in_doubt(std::uint64_t word) { return extreme_exponent(word); }
bool gaussian_in_doubt(double scaled) { return gaussian_near_middle(scaled); }
bool laplace_in_doubt(double scaled) { return laplace_near_middle(scaled); }

}  // namespace obol::privacy
