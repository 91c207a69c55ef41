// How the thread blocks of a launch agree on its number, and raise it for the next one.
#pragma once

#include <cstdint>

#include "obol/barrier/cuda/arithmetic.h"

namespace obol::barrier::cuda {

// To be called once by every thread of a launch. The last thread block to have read the number
// raises it; only the next launch on the stream reads it again.
__device__ inline std::uint64_t take_launch(BitsState* state) {
  const std::uint64_t launch = *const_cast<const volatile std::uint64_t*>(&state->launch);
  __syncthreads();
  if (threadIdx.x == 0) {
    const unsigned last = gridDim.x * gridDim.y - 1;
    __threadfence();
    if (atomicInc(&state->started, last) == last) {  // which begins again from 0
      __threadfence();
      state->launch = launch + 1;
    }
  }
  return launch;
}

}  // namespace obol::barrier::cuda
