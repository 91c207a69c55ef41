#include "obol/base/error.h"
#include "obol/transport/cuda/error.h"

namespace obol::transport::cuda {

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw Error(violation(what, "accepted by CUDA", cudaGetErrorString(status)));
}

void require(bool holds, const char* what, const char* requirement, double value) {
  if (!holds) throw InvalidArgument(violation(what, requirement, value));
}

}  // namespace obol::transport::cuda
