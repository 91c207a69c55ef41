// What the CUDA runtime answers, and arguments that cannot be meant, as exceptions.
//
//   require(mixing >= 0, "mixing", "not negative", mixing);
//   check(cudaGetLastError(), "pairwise_cost");
#pragma once

#include <cuda_runtime_api.h>

namespace obol::cuda {

// Throws obol::Error with the runtime's own words if `status` is not success.
void check(cudaError_t status, const char* what);

// Throws InvalidArgument, "WHAT must be REQUIREMENT, but is VALUE", unless it holds.
void require(bool holds, const char* what, const char* requirement, double value);

}  // namespace obol::cuda
