// Compiled without contraction into fused products (the same bits everywhere) and without errno
// for square roots (which would keep the loops from being vectorised): see CMakeLists.txt.
#include "obol/privacy/noise_transform.h"

#include <cstddef>
#include <vector>

namespace obol::privacy {
namespace {

OBOL_INLINE void gaussian_loop(const std::uint64_t* __restrict words, double* __restrict draws,
                               std::size_t count) {
  for (std::size_t i = 0; i + 1 < count; i += 2) {
    const NormalPair pair = gaussian_pair(words[i], words[i + 1]);
    draws[i] = pair.first;
    draws[i + 1] = pair.second;
  }
}

OBOL_INLINE void laplace_loop(const std::uint64_t* __restrict words, double* __restrict draws,
                              std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) draws[i] = laplace_draw(words[i]);
}

template <bool (*kExtreme)(std::uint64_t), bool (*kNearMiddle)(double)>
OBOL_INLINE bool round_loop(const std::uint64_t* __restrict words, const double* __restrict draws,
                            double steps_per_unit, double* __restrict steps, std::size_t count,
                            std::size_t words_apart) {
  std::uint64_t doubts = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double scaled = draws[i] * steps_per_unit;
    steps[i] = whole(scaled);
    doubts |= static_cast<std::uint64_t>(kNearMiddle(scaled));
  }
  for (std::size_t i = 0; i < count; i += words_apart)
    doubts |= static_cast<std::uint64_t>(kExtreme(words[i]));
  return doubts == 0;
}

OBOL_INLINE void add_loop(const double* __restrict steps, double spacing, double* __restrict values,
                          std::size_t count) {
  const double per_spacing = 1 / spacing;  // a power of two: exact
  for (std::size_t i = 0; i < count; ++i)
    values[i] = with_steps(values[i], steps[i], spacing, per_spacing);
}

using Words = std::span<const std::uint64_t>;
using Doubles = std::span<const double>;

// One set of functions per instruction set. A macro, because the attribute belongs to a function
// and a template cannot have it as a parameter.
#define OBOL_NOISE_KERNEL(suffix, ...)                                                        \
  __VA_ARGS__ void gaussian_##suffix(Words words, std::span<double> draws) {                  \
    gaussian_loop(words.data(), draws.data(), draws.size());                                  \
  }                                                                                           \
  __VA_ARGS__ void laplace_##suffix(Words words, std::span<double> draws) {                   \
    laplace_loop(words.data(), draws.data(), draws.size());                                   \
  }                                                                                           \
  __VA_ARGS__ bool round_gaussian_##suffix(Words words, Doubles draws, double steps_per_unit, \
                                           std::span<double> steps) {                         \
    return round_loop<extreme_radius, gaussian_near_middle>(                                  \
        words.data(), draws.data(), steps_per_unit, steps.data(), steps.size(), 2);           \
  }                                                                                           \
  __VA_ARGS__ bool round_laplace_##suffix(Words words, Doubles draws, double steps_per_unit,  \
                                          std::span<double> steps) {                          \
    return round_loop<extreme_exponent, laplace_near_middle>(                                 \
        words.data(), draws.data(), steps_per_unit, steps.data(), steps.size(), 1);           \
  }                                                                                           \
  __VA_ARGS__ void add_##suffix(Doubles steps, double spacing, std::span<double> values) {    \
    add_loop(steps.data(), spacing, values.data(), values.size());                            \
  }                                                                                           \
  NoiseKernel kernel_##suffix() {                                                             \
    return {#suffix,                                                                          \
            gaussian_##suffix,                                                                \
            laplace_##suffix,                                                                 \
            round_gaussian_##suffix,                                                          \
            round_laplace_##suffix,                                                           \
            add_##suffix};                                                                    \
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
bool gaussian_in_doubt(double scaled) { return gaussian_near_middle(scaled); }
bool laplace_in_doubt(double scaled) { return laplace_near_middle(scaled); }

}  // namespace obol::privacy
