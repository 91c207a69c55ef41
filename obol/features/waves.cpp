#include "obol/features/waves.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "obol/base/instruction_sets.h"

namespace obol::features {
namespace {

constexpr std::size_t kWavesAtOnce = 64;
constexpr float kQuartersPerUnit = 0.63661977236758134F;  // 2 / pi
constexpr float kRounder = 0x1.8p23F;
// pi / 2 in three parts. The first two have few enough bits for exact products with whole numbers
// of quarters up to kFar.
constexpr float kHalfPi[] = {0x1.92p0F, 0x1.FB4p-12F, 0x1.4442D2p-24F};
// Phases beyond are left to the standard library.
constexpr float kFar = 8192;

// Those that are no numbers, too.
void replace_far_ones(const float* phases, float scale, float* cosines, float* sines) {
  float largest = 0;
  bool are_numbers = true;
  for (std::size_t l = 0; l < kWavesAtOnce; ++l) {
    largest = std::max(largest, std::abs(phases[l]));
    are_numbers &= phases[l] == phases[l];
  }
  if (largest <= kFar && are_numbers) return;
  for (std::size_t l = 0; l < kWavesAtOnce; ++l) {
    if (std::abs(phases[l]) <= kFar) continue;
    cosines[l] = scale * std::cos(phases[l]);
    sines[l] = scale * std::sin(phases[l]);
  }
}

#define OBOL_KERNEL "obol/features/waves_kernel.inc"
#include "obol/base/instruction_sets.inc"

}  // namespace

const std::vector<WaveKernel>& wave_kernels() {
  static const std::vector<WaveKernel> kKernels = OBOL_KERNELS(kernel());
  return kKernels;
}

}  // namespace obol::features
