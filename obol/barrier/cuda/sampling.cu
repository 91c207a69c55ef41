#include <cmath>

#include "obol/barrier/cuda/launch.cuh"
#include "obol/barrier/cuda/sampling.h"
#include "obol/cuda/error.h"
#include "obol/cuda/warp.cuh"

namespace obol::barrier::cuda {
namespace {

using obol::cuda::check;
using obol::cuda::kAllLanes;
using obol::cuda::kWarp;
using obol::cuda::require;

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kThreadsOfRow = 128;

// The word of record r in step s is number r of the step's own; 8 records share a ChaCha block. So
// the sample depends neither on the capacity nor on the classes.
__host__ __device__ std::int64_t blocks_for(std::int64_t records) {
  return (records + kBlockWords - 1) / kBlockWords;
}

// Those of the eight records from `start` on that lie in [begin, end).
__device__ unsigned within(std::int64_t start, std::int64_t begin, std::int64_t end) {
  unsigned mask = 0;
#pragma unroll
  for (int k = 0; k < kBlockWords; ++k)
    mask |= static_cast<unsigned>(start + k >= begin && start + k < end) << k;
  return mask;
}

struct Place {
  int before;  // the sum over the threads before this one
  int total;
};

__device__ Place place_of(int count) {
  __shared__ int of_warps[kWarps];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  int up_to = count;
#pragma unroll
  for (int offset = 1; offset < kWarp; offset *= 2) {
    const int left = __shfl_up_sync(kAllLanes, up_to, offset);
    if (lane >= offset) up_to += left;
  }
  __syncthreads();  // the last round's sums have been read
  if (lane == kWarp - 1) of_warps[warp] = up_to;
  __syncthreads();
  Place place{up_to - count, 0};
#pragma unroll
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) place.before += of_warps[w];
    place.total += of_warps[w];
  }
  return place;
}

struct Thresholds {
  std::uint64_t below;  // a record with a smaller word takes part
  bool all;             // or everyone does
};

// One thread block per class and step, eight records per thread.
__global__ void __launch_bounds__(kThreads)
    poisson_kernel(BitsState* state, const std::int64_t* class_ends, std::int64_t records,
                   Thresholds thresholds, const PoissonTables tables, Draw draw) {
  std::uint64_t launch = 0;
  if (draw == Draw::kNew) {
    launch = take_launch(state);
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *tables.launch = launch;
  } else {
    launch = *tables.launch;
  }
  const std::int64_t begin = blockIdx.x == 0 ? 0 : class_ends[blockIdx.x - 1];
  const std::int64_t end = class_ends[blockIdx.x];
  const std::int64_t cell = blockIdx.y * tables.classes + blockIdx.x;
  const std::int64_t blocks_before = blockIdx.y * blocks_for(records);
  std::int32_t* const indices = tables.indices + cell * tables.capacity;
  std::int64_t count = 0;
  for (std::int64_t base = begin / kBlockWords; base * kBlockWords < end; base += kThreads) {
    const std::int64_t block = base + threadIdx.x;
    unsigned chosen = within(block * kBlockWords, begin, end);
    if (chosen != 0 && !thresholds.all)
      chosen &= chosen_of(state->key, launch, static_cast<std::uint32_t>(blocks_before + block),
                          thresholds.below);
    const Place place = place_of(__popc(chosen));
    for (std::int64_t at = count + place.before; chosen != 0; ++at, chosen &= chosen - 1)
      if (at < tables.capacity)
        indices[at] = static_cast<std::int32_t>(block * kBlockWords + __ffs(chosen) - 1);
    count += place.total;
  }
  if (threadIdx.x == 0) tables.counts[cell] = static_cast<std::int32_t>(count);
}

// kWidth values side by side, as floats.
template <int kWidth>
__device__ void load(const std::uint8_t* from, float (&to)[kWidth]) {
  if constexpr (kWidth == 1) {
    to[0] = static_cast<float>(*from);
  } else {
    const uchar4 four = *reinterpret_cast<const uchar4*>(from);
    to[0] = static_cast<float>(four.x);
    to[1] = static_cast<float>(four.y);
    to[2] = static_cast<float>(four.z);
    to[3] = static_cast<float>(four.w);
  }
}
template <int kWidth>
__device__ void load(const float* from, float (&to)[kWidth]) {
  obol::cuda::load_constant<kWidth>(from, to);
}

template <int kWidth>
__device__ void store(const float (&from)[kWidth], float* to) {
  if constexpr (kWidth == 1)
    *to = from[0];
  else
    *reinterpret_cast<float4*>(to) = make_float4(from[0], from[1], from[2], from[3]);
}

// One thread block per row.
template <int kWidth, class T>
__global__ void __launch_bounds__(kThreadsOfRow)
    gather_kernel(const T* records, std::int64_t width, const PoissonTables tables,
                  const std::int64_t* slot, float scale, float offset, const GatheredRows rows) {
  const std::int64_t row = blockIdx.x;
  const std::int64_t step = slot == nullptr ? 0 : *slot;
  const std::int64_t cell = step * tables.classes + row / tables.capacity;
  const std::int64_t place = row % tables.capacity;
  const bool is_there = place < tables.counts[cell];
  const std::int64_t record = is_there ? tables.indices[cell * tables.capacity + place] : 0;
  if (threadIdx.x == 0) rows.present[row] = is_there ? 1.0F : 0.0F;
  for (std::int64_t i = std::int64_t{threadIdx.x} * kWidth; i < width;
       i += std::int64_t{kThreadsOfRow} * kWidth) {
    float values[kWidth] = {};
    if (is_there) {
      load(records + record * width + i, values);
#pragma unroll
      for (int k = 0; k < kWidth; ++k) values[k] = __fadd_rn(__fmul_rn(values[k], scale), offset);
    }
    store(values, rows.points + row * width + i);
  }
}

bool is_aligned(const void* pointer, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0;
}

void check_tables(const PoissonTables& tables) {
  require(tables.steps > 0 && tables.steps <= 65535, "the steps of a table", "from 1 to 65535",
          static_cast<double>(tables.steps));
  require(tables.classes > 0 && tables.classes <= 65535, "the number of classes", "from 1 to 65535",
          static_cast<double>(tables.classes));
  require(tables.capacity >= 0 && tables.capacity <= INT32_MAX / tables.classes,
          "the capacity of a table", "not negative, and below 2^31 in all classes",
          static_cast<double>(tables.capacity));
}

template <class T>
void gather(const T* records, std::int64_t width, const PoissonTables& tables,
            const std::int64_t* slot, const Pixels& pixels, const GatheredRows& rows,
            cudaStream_t stream) {
  check_tables(tables);
  require(width > 0, "the width of records", "positive", static_cast<double>(width));
  if (tables.capacity == 0) return;
  const auto blocks = static_cast<unsigned>(tables.classes * tables.capacity);
  const auto scale = static_cast<float>(pixels.scale);
  const auto offset = static_cast<float>(pixels.offset);
  const bool by_fours =
      width % 4 == 0 && is_aligned(records, 4 * sizeof(T)) && is_aligned(rows.points, 16);
  if (by_fours)
    gather_kernel<4>
        <<<blocks, kThreadsOfRow, 0, stream>>>(records, width, tables, slot, scale, offset, rows);
  else
    gather_kernel<1>
        <<<blocks, kThreadsOfRow, 0, stream>>>(records, width, tables, slot, scale, offset, rows);
  check(cudaGetLastError(), "the records of a sample");
}

}  // namespace

void poisson_tables(DeviceBits& bits, const PoissonSampling& sampling, const PoissonTables& tables,
                    Draw draw, cudaStream_t stream) {
  check_tables(tables);
  require(sampling.rate >= 0 && sampling.rate <= 1, "sampling_rate", "between 0 and 1",
          sampling.rate);
  require(sampling.records >= 0 && sampling.records <= INT32_MAX, "the number of records",
          "from 0 to 2^31 - 1", static_cast<double>(sampling.records));
  // The blocks of one launch are numbered by 32 bits.
  require(tables.steps * blocks_for(sampling.records) <= std::int64_t{1} << 32,
          "the records of all steps of a table", "at most 2^35",
          static_cast<double>(tables.steps) * static_cast<double>(sampling.records));
  const bool all = sampling.rate == 1;
  const Thresholds thresholds{
      all ? 0 : static_cast<std::uint64_t>(std::floor(std::ldexp(sampling.rate, 64))), all};
  const dim3 shape(static_cast<unsigned>(tables.classes), static_cast<unsigned>(tables.steps));
  poisson_kernel<<<shape, kThreads, 0, stream>>>(bits.state(), sampling.class_ends,
                                                 sampling.records, thresholds, tables, draw);
  check(cudaGetLastError(), "a Poisson sample");
}

void gather_rows(const std::uint8_t* records, std::int64_t width, const PoissonTables& tables,
                 const std::int64_t* slot, const Pixels& pixels, const GatheredRows& rows,
                 cudaStream_t stream) {
  gather(records, width, tables, slot, pixels, rows, stream);
}

void gather_rows(const float* records, std::int64_t width, const PoissonTables& tables,
                 const std::int64_t* slot, const Pixels& pixels, const GatheredRows& rows,
                 cudaStream_t stream) {
  gather(records, width, tables, slot, pixels, rows, stream);
}

}  // namespace obol::barrier::cuda
