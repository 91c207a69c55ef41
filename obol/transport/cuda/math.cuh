// What the kernels share: powers of two in float and double, and sums of several values over a
// warp.
#pragma once

#include <cfloat>
#include <cstdint>

#include "obol/cuda/error.h"
#include "obol/cuda/warp.cuh"

namespace obol::transport::cuda {

using obol::cuda::check;
using obol::cuda::kAllLanes;
using obol::cuda::kWarp;
using obol::cuda::load_constant;
using obol::cuda::max_over_warp;
using obol::cuda::require;
using obol::cuda::sum_over_warp;

constexpr double kLog2E = 1.4426950408889634;
constexpr double kLn2 = 0.6931471805599453;

// One instruction each in float; below the normal numbers the power is 0.
__device__ inline float power_of_two(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline double power_of_two(double x) { return exp2(x); }

__device__ inline float binary_log(float x) {
  float y;
  asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ inline double binary_log(double x) { return log2(x); }

template <class T>
struct Range;
template <>
struct Range<float> {
  static constexpr float kLargest = FLT_MAX;
  static constexpr float kLargestExponent = 80;  // of e
  static constexpr float kFar = 1e25F;  // sums beyond, or below its inverse, have lost terms
};
template <>
struct Range<double> {
  static constexpr double kLargest = DBL_MAX;
  static constexpr double kLargestExponent = 700;
  static constexpr double kFar = 1e250;
};

// Never more than some 1e34 (float) or 1e304.
template <class T>
__device__ T finite_exp(T x) {
  return exp(fmin(x, Range<T>::kLargestExponent));
}

// Sums 16 values over the warp at once; lanes 2e and 2e + 1 get the e-th sum. Each step exchanges
// half of what is left, so that it takes 16 shuffles and not 80.
template <class T>
__device__ T sum_of_lane_pair(T (&values)[16]) {
  const int lane = threadIdx.x % kWarp;
#pragma unroll
  for (int level = 0; level < 4; ++level) {
    const int half = 8 >> level;
    const bool is_upper = (lane & (2 * half)) != 0;
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      if (e >= half) continue;
      const T given = is_upper ? values[e] : values[e + half];
      const T kept = is_upper ? values[e + half] : values[e];
      values[e] = kept + __shfl_xor_sync(kAllLanes, given, 2 * half);
    }
  }
  return values[0] + __shfl_xor_sync(kAllLanes, values[0], 1);
}

__device__ inline void load_four(const float* from, float* to) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}
__device__ inline void load_four(const double* from, double* to) {
  const double2 low = *reinterpret_cast<const double2*>(from);
  const double2 high = *reinterpret_cast<const double2*>(from + 2);
  to[0] = low.x;
  to[1] = low.y;
  to[2] = high.x;
  to[3] = high.y;
}

}  // namespace obol::transport::cuda
