// Warps: sums and maxima over their lanes, and loads of several values at once.
#pragma once

namespace obol::cuda {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffU;

template <class T>
__device__ T sum_over_warp(T value) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(kAllLanes, value, offset);
  return value;
}

template <class T>
__device__ T max_over_warp(T value) {
#pragma unroll
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    value = fmax(value, __shfl_xor_sync(kAllLanes, value, offset));
  return value;
}

// kWidth values side by side, of memory that nothing writes during the launch.
template <int kWidth>
__device__ void load_constant(const float* from, float* to) {
  if (kWidth == 1) {
    to[0] = __ldg(from);
  } else {
    const float4 four = __ldg(reinterpret_cast<const float4*>(from));
    to[0] = four.x;
    to[1] = four.y;
    to[2] = four.z;
    to[3] = four.w;
  }
}
template <int kWidth>
__device__ void load_constant(const double* from, double* to) {
  if (kWidth == 1) {
    to[0] = __ldg(from);
  } else {
    const double2 low = __ldg(reinterpret_cast<const double2*>(from));
    const double2 high = __ldg(reinterpret_cast<const double2*>(from) + 1);
    to[0] = low.x;
    to[1] = low.y;
    to[2] = high.x;
    to[3] = high.y;
  }
}

}  // namespace obol::cuda
