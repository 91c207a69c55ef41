// Poisson samples on the GPU, for many steps at once, and the sampled records as floats.
//
//   PoissonTables tables{indices, counts, launch, steps, classes, capacity};
//   poisson_tables(bits, {class_ends, records, rate}, tables, Draw::kNew, stream);
//   ...                                    // look at the counts; where one is above the capacity:
//   poisson_tables(bits, {class_ends, records, rate}, larger, Draw::kAgain, stream);
//   gather_rows(pixels, width, tables, slot, {1 / 255.0, 0}, {points, present}, stream);
//
// Guarantee: that of data::poisson_indices: every record takes part in every step on its own, with
// the probability `rate`, rounded down to a multiple of 2^-64. The tables are secret.
//
// Everything is asynchronous on `stream` and can be captured in a graph; a replay draws new
// samples.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "obol/barrier/cuda/bits.h"

namespace obol::barrier::cuda {

// Records are stored class by class: those of class c end before class_ends[c].
struct PoissonSampling {
  const std::int64_t* class_ends;  // [classes], on the device
  std::int64_t records;            // the last of them; below 2^31
  double rate;
};

// On the device.
struct PoissonTables {
  std::int32_t* indices;  // [steps][classes][capacity]: ascending; as many as there are and fit
  std::int32_t* counts;   // [steps][classes]: how many there are, even where they do not fit
  std::uint64_t* launch;  // the number of the launch that drew them, for Draw::kAgain
  std::int64_t steps;     // at most 65535
  std::int64_t classes;   // likewise
  std::int64_t capacity;  // of one class in one step
};

enum class Draw {
  kNew,
  kAgain,  // the sample of tables.launch, which a call with kNew has written; of the same steps
};

void poisson_tables(DeviceBits& bits, const PoissonSampling& sampling, const PoissonTables& tables,
                    Draw draw, cudaStream_t stream);

// A record's value is stored * scale + offset, in float, one rounding after the other: as
// PrivateRecords has it with scale = (1 - lowest) / white and offset = lowest.
struct Pixels {
  double scale = 1;
  double offset = 0;
};

struct GatheredRows {
  float* points;   // [classes * capacity][width]: 0 beyond a class's count
  float* present;  // [classes * capacity]: 1 up to it, then 0
};

// The records of one step. `slot` is on the device and says which: one graph, replayed, can thus
// walk along the table. Null: the first.
void gather_rows(const std::uint8_t* records, std::int64_t width, const PoissonTables& tables,
                 const std::int64_t* slot, const Pixels& pixels, const GatheredRows& rows,
                 cudaStream_t stream);
void gather_rows(const float* records, std::int64_t width, const PoissonTables& tables,
                 const std::int64_t* slot, const Pixels& pixels, const GatheredRows& rows,
                 cudaStream_t stream);

}  // namespace obol::barrier::cuda
