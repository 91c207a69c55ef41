#include "obol/base/no_cuda.h"
#include "obol/method/gpu.h"

namespace obol::method::gpu {

void update(const std::vector<Updated>&, const OptimizerOptions&, const torch::Tensor&,
            const torch::Tensor&) {
  no_cuda();
}

}  // namespace obol::method::gpu
