#include "obol/base/error.h"
#include "obol/method/gpu.h"

namespace obol::method::gpu {

void update(const std::vector<Updated>& /*tensors*/, const OptimizerOptions& /*options*/,
            const torch::Tensor& /*table*/, const torch::Tensor& /*step*/) {
  throw Error("this build of Obol has no CUDA");
}

}  // namespace obol::method::gpu
