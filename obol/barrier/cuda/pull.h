// The weights of clipped pulls on the GPU: what barrier::clipped_weights does, for every record of
// a sample.
//
//   weigh({products, squares, potentials, sample_squares, 10, 50, 800}, {3.0, limit}, stream);
//
// One thread has one record, and computes it as the others do whatever their number: a record's
// weights depend on nothing but the record, the rows and their potentials.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

#include "obol/barrier/pull_arithmetic.h"

namespace obol::barrier::cuda {

struct PullProducts {
  double* products;              // [classes, rows, samples], in place
  const double* squares;         // [classes, rows]
  const double* potentials;      // [classes, rows]
  const double* sample_squares;  // [classes, samples]
  std::int64_t classes;
  std::int64_t rows;
  std::int64_t samples;
};

void weigh(const PullProducts& products, const PullOptions& options, cudaStream_t stream);

}  // namespace obol::barrier::cuda
