#include "obol/cuda/error.h"

#include "obol/base/error.h"

namespace obol::cuda {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw Error(violation(what, "accepted by CUDA", cudaGetErrorString(status)));
}

void require(bool holds, const char* what, const char* requirement, double value) {
  if (!holds) throw InvalidArgument(violation(what, requirement, value));
}

}  // namespace obol::cuda
