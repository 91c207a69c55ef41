// Cosines and sines of many phases on the CPU, in float: the loops behind fourier.h. No LibTorch.
//
// Absolute errors are below 1.5e-7 (times `scale`), and each number depends on its own phase alone.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace obol::features {

// The loops in one instruction set.
struct WaveKernel {
  std::string_view name;
  // `count` phases become their cosines in place, times `scale`; the sines go to `sines`.
  void (*waves)(float* phases, float* sines, std::size_t count, float scale);
  // From scaled cosines and sines and the gradients with respect to them to that of the phases.
  void (*gradient)(const float* cosines, const float* sines, const float* of_cosines,
                   const float* of_sines, std::size_t count, float* of_phases);
};
// Those that this CPU can run, the fastest first.
const std::vector<WaveKernel>& wave_kernels();

}  // namespace obol::features
