// Clipping and Gaussian noise on the GPU: what barrier::clip_rows and privacy::add_gaussian do,
// with device pointers and a DeviceBits.
//
//   const privacy::NoiseGrid grid = privacy::grid_of(noise, rows * width);
//   release_rows(bits, {gradient, rows, width, width}, clip_norm, grid, stream);
//
// Guarantee: that of privacy::add_gaussian, for values whose sensitivity is that of the grid's
// noise. Norms and noise are in double, doubts are settled by pairs of doubles, and the sum is
// rounded to float at the end, which is post-processing (docs/guarantees/noise.md).
//
// Everything is asynchronous on `stream` and can be captured in a graph; a replay draws new noise.
// What cannot be refused on a device is replaced: values that are not finite count as zero, those
// beyond grid.largest as that.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "obol/barrier/cuda/bits.h"
#include "obol/privacy/noise_arithmetic.h"

namespace obol::barrier::cuda {

struct DeviceRows {
  float* values;
  std::int64_t rows;
  std::int64_t width;
  std::int64_t leading;  // elements from one row to the next
};

// Adds the noise in place. At most 2^35 values.
void add_gaussian(DeviceBits& bits, float* values, std::int64_t count,
                  const privacy::NoiseGrid& grid, cudaStream_t stream);

// The same of doubles, to the last of their digits, rounded to float only once they have noise.
void add_gaussian(DeviceBits& bits, const double* values, float* noisy, std::int64_t count,
                  const privacy::NoiseGrid& grid, cudaStream_t stream);

// Scales each row down to at most `clip_norm` in l2, rounding included, and adds the noise. A row
// that has a value that is not finite is zero before it has noise. The whole of a gradient is one
// row: long ones take the whole GPU and two launches.
void release_rows(DeviceBits& bits, const DeviceRows& rows, double clip_norm,
                  const privacy::NoiseGrid& grid, cudaStream_t stream);

// The same without noise, each row by one thread block.
void clip_rows(const DeviceRows& rows, double clip_norm, cudaStream_t stream);

}  // namespace obol::barrier::cuda
