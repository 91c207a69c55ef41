// What the passes over rows of channels have in common: who reads what, and sums of two numbers per
// channel over all rows, which one launch takes and the next reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <cuda_bf16.h>

#include "obol/model/cuda/norm_activation.h"
#include "obol/model/cuda/number.cuh"

namespace obol::model::cuda {

constexpr int kTile = 64;  // channels of a thread block
constexpr int kSums = 2 * kTile;
constexpr int kThreads = 512;
constexpr int kWarps = kThreads / 32;
constexpr int kParts = kThreads / kSums;
constexpr int kInFlight = 4;  // packs that a thread loads before it uses them

// V numbers that are loaded at once.
template <class T, int V>
struct alignas(sizeof(T) * V) Pack {
  T values[V];
};

__device__ inline unsigned two(float low, float high) {
  const __nv_bfloat162 both = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&both);
}

// As many bytes at once as Pack has, which the compiler does not find by itself.
template <class T>
__device__ inline void write(const float (&x)[1], T* to) {
  store(x[0], to);
}
__device__ inline void write(const float (&x)[4], float* to) {
  __stwb(reinterpret_cast<float4*>(to), make_float4(x[0], x[1], x[2], x[3]));
}
__device__ inline void write(const float (&x)[8], __nv_bfloat16* to) {
  __stwb(reinterpret_cast<uint4*>(to),
         make_uint4(two(x[0], x[1]), two(x[2], x[3]), two(x[4], x[5]), two(x[6], x[7])));
}

// What a channel is normalised by: r((x - first - offset) scale + bias). The first row is taken off
// before anything else: a large mean then does not drown a small variance.
struct Channel {
  float first;
  float offset;
  float scale;
  float bias;

  __device__ float deviation(float x) const { return (x - first) - offset; }
  __device__ float affine(float deviation) const { return fmaf(deviation, scale, bias); }
};

// Threads stand beside each other by channels, V to each, and above each other by rows.
template <int V>
struct Place {
  static constexpr int kColumns = kTile / V;
  static constexpr int kLanes = kThreads / kColumns;

  int column;  // in the tile
  std::int64_t channel;
  std::int64_t begin;  // the thread's first row; the next is kLanes further
  std::int64_t end;
  bool is_inside;

  __device__ Place(std::int64_t rows, std::int64_t channels) {
    column = static_cast<int>(threadIdx.x) % kColumns * V;
    channel = static_cast<std::int64_t>(blockIdx.y) * kTile + column;
    const std::int64_t share = (rows + gridDim.x - 1) / gridDim.x;
    begin = blockIdx.x * share + threadIdx.x / kColumns;
    end = min(rows, (blockIdx.x + 1) * share);
    is_inside = channel < channels;
    if (!is_inside) end = begin;
  }
};

// body(row, packs of the inputs at that row) for all rows of the thread.
template <int N, class T, int V, class Body>
__device__ inline void for_rows(const Place<V>& place, std::int64_t channels,
                                const T* const (&inputs)[N], const Body& body) {
  constexpr int kLanes = Place<V>::kLanes;
  constexpr int kAhead = kInFlight / N;
  for (std::int64_t row = place.begin; row < place.end; row += kAhead * kLanes) {
    Pack<T, V> packs[kAhead][N];
#pragma unroll
    for (int k = 0; k < kAhead; ++k) {
      const std::int64_t at = (row + k * kLanes) * channels + place.channel;
      if (row + k * kLanes < place.end)
#pragma unroll
        for (int n = 0; n < N; ++n)
          packs[k][n] = *reinterpret_cast<const Pack<T, V>*>(inputs[n] + at);
    }
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
      if (row + k * kLanes < place.end) body(row + k * kLanes, packs[k]);
  }
}

// Adds the threads' sums of each channel up; `to` is [2, kTile], this block's own.
template <int V>
__device__ inline void write_sums(const Place<V>& place, float (&sums)[2][V], float* to) {
  constexpr int kColumns = Place<V>::kColumns;
  constexpr int kWide = kColumns > 32 ? kColumns / 32 : 1;  // warps beside each other
  __shared__ float parts[kWarps / kWide][kSums];
  const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
  for (int s = 0; s < 2; ++s)
#pragma unroll
    for (int k = 0; k < V; ++k) {
      float sum = sums[s][k];
#pragma unroll
      for (int distance = 16; distance >= kColumns; distance /= 2)
        sum += __shfl_xor_sync(0xffffffffU, sum, distance);
      if (threadIdx.x % 32 < kColumns) parts[warp / kWide][s * kTile + place.column + k] = sum;
    }
  __syncthreads();
  if (threadIdx.x >= kSums) return;
  float sum = 0;
#pragma unroll
  for (int k = 0; k < kWarps / kWide; ++k) sum += parts[k][threadIdx.x];
  to[threadIdx.x] = sum;
}

__device__ inline float* sums_of_block(float* workspace) {
  return workspace + (static_cast<std::int64_t>(blockIdx.y) * gridDim.x + blockIdx.x) * kSums;
}

// Both sums of this block's tile over all of the `chunks` blocks that wrote them, to `total`.
__device__ inline void read_sums(const float* workspace, int chunks, double (&total)[kSums]) {
  __shared__ double parts[kParts][kSums];
  const int which = static_cast<int>(threadIdx.x) % kSums;
  const int part = static_cast<int>(threadIdx.x) / kSums;
  const float* from = workspace + static_cast<std::int64_t>(blockIdx.y) * chunks * kSums + which;
  double sum = 0;
#pragma unroll 8
  for (int k = part; k < chunks; k += kParts) sum += from[k * kSums];
  parts[part][which] = sum;
  __syncthreads();
  if (part == 0) {
#pragma unroll
    for (int k = 1; k < kParts; ++k) sum += parts[k][which];
    total[which] = sum;
  }
  __syncthreads();
}

inline std::int64_t tiles_of(std::int64_t channels) { return (channels + kTile - 1) / kTile; }

// Thread blocks along the rows: enough rows for each, and not many more blocks than a GPU holds.
inline int blocks_of(std::int64_t rows, std::int64_t channels, std::int64_t least_rows,
                     std::int64_t most) {
  constexpr std::int64_t kResident = 256;
  const std::int64_t wanted = (rows + least_rows - 1) / least_rows;
  const std::int64_t room = std::max<std::int64_t>(1, kResident / tiles_of(channels));
  return static_cast<int>(std::min({wanted, room, most}));
}

// Every block that applies sums reads them from all blocks that took them: so these are fewer.
inline int chunks_of(std::int64_t rows, std::int64_t channels) {
  return blocks_of(rows, channels, 512, 128);
}

template <class T>
dim3 sum_grid(const Rows<T>& x) {
  return {static_cast<unsigned>(chunks_of(x.rows, x.channels)),
          static_cast<unsigned>(tiles_of(x.channels))};
}

template <class T>
dim3 apply_grid(const Rows<T>& x) {
  return {static_cast<unsigned>(blocks_of(x.rows, x.channels, 256, 256)),
          static_cast<unsigned>(tiles_of(x.channels))};
}

// body(V) as a type: 16 bytes at once where all rows of all pointers allow it.
template <class T, class Body, class... Pointers>
void with_width(const Rows<T>& x, const Body& body, const Pointers*... pointers) {
  constexpr int kWide = 16 / sizeof(T);
  const bool is_aligned = ((reinterpret_cast<std::uintptr_t>(x.data) % 16 == 0) && ... &&
                           (reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0));
  if (x.channels % kWide == 0 && is_aligned)
    body(std::integral_constant<int, kWide>());
  else
    body(std::integral_constant<int, 1>());
}

}  // namespace obol::model::cuda
