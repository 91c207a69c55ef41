// Loops that are compiled once for each instruction set, and those among them that this CPU can
// run.
//
//   namespace {
//   #define OBOL_KERNEL "obol/transport/cpu/softmin_kernel.inc"
//   #include "obol/base/instruction_sets.inc"
//   }
//   static const auto kKernels = OBOL_KERNELS(kernel<float>());   // the fastest first
//
// The file OBOL_KERNEL marks its functions with OBOL_TARGET, may use kName and kVectorBytes, and
// ends with a function that returns what its user wants to call.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace obol {

#if defined(__x86_64__)
inline bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

#define OBOL_KERNELS(...)                                        \
  obol::usable_kernels<decltype(portable::__VA_ARGS__)>(         \
      {{obol::has_avx512(), avx512::__VA_ARGS__},                \
       {__builtin_cpu_supports("avx2") != 0, avx2::__VA_ARGS__}, \
       {true, portable::__VA_ARGS__}})
#else
#define OBOL_KERNELS(...) \
  obol::usable_kernels<decltype(portable::__VA_ARGS__)>({{true, portable::__VA_ARGS__}})
#endif

template <class Kernel>
std::vector<Kernel> usable_kernels(std::initializer_list<std::pair<bool, Kernel>> all) {
  std::vector<Kernel> kernels;
  for (const auto& [is_usable, kernel] : all)
    if (is_usable) kernels.push_back(kernel);
  return kernels;
}

}  // namespace obol
