// Compiled without contraction into fused products, so that draws have the processor's bits: see
// CMakeLists.txt.
#include <algorithm>

#include "obol/barrier/cuda/launch.cuh"
#include "obol/barrier/cuda/noise.h"
#include "obol/cuda/error.h"
#include "obol/cuda/warp.cuh"

namespace obol::barrier::cuda {
namespace {

using obol::cuda::check;
using obol::cuda::kWarp;
using obol::cuda::require;
using obol::cuda::sum_over_warp;
using privacy::NoiseGrid;

constexpr int kThreads = 64;        // of noise alone: few, so that a small release has many blocks
constexpr int kThreadsOfRow = 256;  // at most, of a block that clips a row and adds noise
constexpr int kThreadsOfSum = 256;  // of a block that sums a part of a row
constexpr int kMostThreads = 1024;  // of a block that clips a row
constexpr std::int64_t kLongRow = 4096;  // from here on, few rows are shared among many blocks
constexpr std::int64_t kFewRows = 64;

std::int64_t blocks_for(std::int64_t width) { return (width + kBlockWords - 1) / kBlockWords; }

__device__ float finite_or_zero(float value) { return isfinite(value) ? value : 0.0F; }

// Up to eight values side by side.
class Eight {
 public:
  __device__ Eight(float* values, std::int64_t left)
      : values_(values), count_(left < kBlockWords ? static_cast<int>(left) : kBlockWords) {
    if (is_whole()) {
      const float4 low = reinterpret_cast<const float4*>(values_)[0];
      const float4 high = reinterpret_cast<const float4*>(values_)[1];
      const float all[kBlockWords] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
      for (int k = 0; k < kBlockWords; ++k) items_[k] = all[k];
    } else {
#pragma unroll
      for (int k = 0; k < kBlockWords; ++k) items_[k] = k < count_ ? values_[k] : 0.0F;
    }
  }

  __device__ void release(const BitsState* state, std::uint64_t launch, std::int64_t block,
                          float factor, const NoiseGrid& grid) {
    double steps[kBlockWords];
    steps_of(state->key, launch, static_cast<std::uint32_t>(block), grid.scale / grid.spacing,
             steps);
#pragma unroll
    for (int k = 0; k < kBlockWords; ++k)
      items_[k] = noisy(static_cast<double>(finite_or_zero(items_[k]) * factor), steps[k], grid);
    store();
  }

 private:
  __device__ bool is_whole() const {
    return count_ == kBlockWords && reinterpret_cast<std::uintptr_t>(values_) % sizeof(float4) == 0;
  }

  __device__ void store() {
    if (is_whole()) {
      auto* fours = reinterpret_cast<float4*>(values_);
      fours[0] = make_float4(items_[0], items_[1], items_[2], items_[3]);
      fours[1] = make_float4(items_[4], items_[5], items_[6], items_[7]);
    } else {
#pragma unroll
      for (int k = 0; k < kBlockWords; ++k)
        if (k < count_) values_[k] = items_[k];
    }
  }

  float* values_;
  int count_;
  float items_[kBlockWords];
};

// To every thread; the order of the sum depends on the number of threads alone.
__device__ double sum_over_block(double sum) {
  __shared__ double of_warps[kMostThreads / kWarp];
  sum = sum_over_warp(sum);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = sum;
  __syncthreads();
  double total = 0;
  for (unsigned w = 0; w < blockDim.x / kWarp; ++w) total += of_warps[w];
  return total;
}

// Squares of floats are exact in double, and never overflow.
__device__ double squares_of(const float* values, std::int64_t width, std::int64_t first,
                             std::int64_t apart) {
  double sum = 0;
  for (std::int64_t i = first; i < width; i += apart) {
    const auto value = static_cast<double>(values[i]);
    sum += value * value;
  }
  return sum;
}

__global__ void __launch_bounds__(kThreadsOfSum)
    squares_kernel(BitsState* state, const DeviceRows rows) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreadsOfSum + threadIdx.x;
  const double sum = sum_over_block(squares_of(rows.values + blockIdx.y * rows.leading, rows.width,
                                               first, std::int64_t{gridDim.x} * kThreadsOfSum));
  if (threadIdx.x == 0) state->squares[blockIdx.y * gridDim.x + blockIdx.x] = sum;
}

// The factor of this block's row, from the sums over its parts. 1 where there are none.
__device__ float factor_of_row(const BitsState* state, int parts, double clip_norm) {
  if (parts == 0) return 1;
  __shared__ float factor;
  if (threadIdx.x < kWarp) {
    double sum = 0;
    for (int k = static_cast<int>(threadIdx.x); k < parts; k += kWarp)
      sum += state->squares[blockIdx.y * parts + k];
    sum = sum_over_warp(sum);
    if (threadIdx.x == 0) factor = clip_factor(sqrt(sum), clip_norm);
  }
  __syncthreads();
  return factor;
}

__global__ void __launch_bounds__(kThreads)
    noise_kernel(BitsState* state, const DeviceRows rows, int parts, double clip_norm,
                 const NoiseGrid grid, std::int64_t blocks_of_row) {
  const std::uint64_t launch = take_launch(state);
  const float factor = factor_of_row(state, parts, clip_norm);
  const std::int64_t block = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (block >= blocks_of_row) return;
  const std::int64_t start = block * kBlockWords;
  Eight eight(rows.values + blockIdx.y * rows.leading + start, rows.width - start);
  eight.release(state, launch, blockIdx.y * blocks_of_row + block, factor, grid);
}

__global__ void __launch_bounds__(kThreads)
    wide_noise_kernel(BitsState* state, const double* values, float* out, std::int64_t count,
                      const NoiseGrid grid) {
  const std::uint64_t launch = take_launch(state);
  const std::int64_t block = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  const std::int64_t start = block * kBlockWords;
  if (start >= count) return;
  double steps[kBlockWords];
  steps_of(state->key, launch, static_cast<std::uint32_t>(block), grid.scale / grid.spacing, steps);
#pragma unroll
  for (int k = 0; k < kBlockWords; ++k) {
    if (start + k >= count) continue;
    const double value = values[start + k];
    out[start + k] = noisy(isfinite(value) ? value : 0.0, steps[k], grid);
  }
}

__global__ void __launch_bounds__(kThreadsOfRow)
    release_kernel(BitsState* state, const DeviceRows rows, double clip_norm, const NoiseGrid grid,
                   std::int64_t blocks_of_row) {
  const std::uint64_t launch = take_launch(state);
  float* const row = rows.values + blockIdx.x * rows.leading;
  const double squares =
      sum_over_block(squares_of(row, rows.width, std::int64_t{threadIdx.x}, blockDim.x));
  const float factor = clip_factor(sqrt(squares), clip_norm);
  for (std::int64_t block = threadIdx.x; block < blocks_of_row; block += blockDim.x) {
    const std::int64_t start = block * kBlockWords;
    Eight eight(row + start, rows.width - start);
    eight.release(state, launch, blockIdx.x * blocks_of_row + block, factor, grid);
  }
}

__global__ void __launch_bounds__(kMostThreads)
    clip_kernel(const DeviceRows rows, double clip_norm) {
  float* const row = rows.values + blockIdx.x * rows.leading;
  const double squares =
      sum_over_block(squares_of(row, rows.width, std::int64_t{threadIdx.x}, blockDim.x));
  const float factor = clip_factor(sqrt(squares), clip_norm);
  for (std::int64_t i = threadIdx.x; i < rows.width; i += blockDim.x)
    row[i] = finite_or_zero(row[i]) * factor;
}

unsigned threads_for(std::int64_t items, std::int64_t most) {
  const std::int64_t wanted = (items + kWarp - 1) / kWarp * kWarp;
  return static_cast<unsigned>(std::min(wanted, most));
}

void check_rows(const DeviceRows& rows, double clip_norm) {
  require(rows.rows >= 0, "the number of rows", "not negative", static_cast<double>(rows.rows));
  require(rows.rows <= INT32_MAX, "the number of rows", "below 2^31",
          static_cast<double>(rows.rows));
  require(rows.width >= 0, "the width of rows", "not negative", static_cast<double>(rows.width));
  require(rows.leading >= rows.width, "the distance of rows", "at least their width",
          static_cast<double>(rows.leading));
  require(clip_norm > 0 && clip_norm <= DBL_MAX, "clip_norm", "finite and positive", clip_norm);
}

// The blocks of one launch are numbered by 32 bits.
void check_noise(std::int64_t rows, std::int64_t blocks_of_row, const NoiseGrid& grid) {
  const double blocks = static_cast<double>(rows) * static_cast<double>(blocks_of_row);
  require(blocks <= 0x1p32, "the values of one release", "at most 2^35", blocks * kBlockWords);
  require(grid.spacing > 0 && grid.scale < 0x1p26 * grid.spacing, "the scale of noise",
          "below 2^26 spacings, as that of Gaussian noise is", grid.scale / grid.spacing);
}

void launch_noise(DeviceBits& bits, const DeviceRows& rows, int parts, double clip_norm,
                  const NoiseGrid& grid, cudaStream_t stream) {
  const std::int64_t blocks = blocks_for(rows.width);
  const dim3 shape(static_cast<unsigned>((blocks + kThreads - 1) / kThreads),
                   static_cast<unsigned>(rows.rows));
  noise_kernel<<<shape, kThreads, 0, stream>>>(bits.state(), rows, parts, clip_norm, grid, blocks);
  check(cudaGetLastError(), "noise");
}

}  // namespace

void add_gaussian(DeviceBits& bits, float* values, std::int64_t count, const NoiseGrid& grid,
                  cudaStream_t stream) {
  require(count >= 0, "the number of values", "not negative", static_cast<double>(count));
  check_noise(1, blocks_for(count), grid);
  if (count == 0) return;
  launch_noise(bits, {values, 1, count, count}, 0, 0, grid, stream);
}

void add_gaussian(DeviceBits& bits, const double* values, float* noisy, std::int64_t count,
                  const NoiseGrid& grid, cudaStream_t stream) {
  require(count >= 0, "the number of values", "not negative", static_cast<double>(count));
  const std::int64_t blocks = blocks_for(count);
  check_noise(1, blocks, grid);
  if (count == 0) return;
  wide_noise_kernel<<<static_cast<unsigned>((blocks + kThreads - 1) / kThreads), kThreads, 0,
                      stream>>>(bits.state(), values, noisy, count, grid);
  check(cudaGetLastError(), "noise of doubles");
}

void release_rows(DeviceBits& bits, const DeviceRows& rows, double clip_norm, const NoiseGrid& grid,
                  cudaStream_t stream) {
  check_rows(rows, clip_norm);
  const std::int64_t blocks = blocks_for(rows.width);
  check_noise(rows.rows, blocks, grid);
  if (rows.rows == 0 || rows.width == 0) return;
  if (rows.rows > kFewRows || rows.width < kLongRow) {
    release_kernel<<<static_cast<unsigned>(rows.rows), threads_for(blocks, kThreadsOfRow), 0,
                     stream>>>(bits.state(), rows, clip_norm, grid, blocks);
    check(cudaGetLastError(), "a release of rows");
    return;
  }
  const auto parts = static_cast<int>(
      std::min(kMostParts / rows.rows, (rows.width + kThreadsOfSum - 1) / kThreadsOfSum));
  const dim3 shape(static_cast<unsigned>(parts), static_cast<unsigned>(rows.rows));
  squares_kernel<<<shape, kThreadsOfSum, 0, stream>>>(bits.state(), rows);
  check(cudaGetLastError(), "the norm of rows");
  launch_noise(bits, rows, parts, clip_norm, grid, stream);
}

void clip_rows(const DeviceRows& rows, double clip_norm, cudaStream_t stream) {
  check_rows(rows, clip_norm);
  if (rows.rows == 0 || rows.width == 0) return;
  clip_kernel<<<static_cast<unsigned>(rows.rows), threads_for(rows.width, kMostThreads), 0,
                stream>>>(rows, clip_norm);
  check(cudaGetLastError(), "clipping");
}

}  // namespace obol::barrier::cuda
