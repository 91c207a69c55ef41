#include "obol/base/no_cuda.h"
#include "obol/model/critic_gpu.h"

namespace obol::model::gpu {

using torch::Tensor;
using Matrices = std::vector<Matrix>;

void iterate(const Matrices&, const Tensor&, const Tensor&) { no_cuda(); }
Normalised normalised(const Matrices&, const Tensor&, const Tensor&) { no_cuda(); }
void through_norms(const Matrices&, const std::vector<Gradient>&, const Tensor&, const Tensor&,
                   const Tensor&) {
  no_cuda();
}
void update(const Adam&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) { no_cuda(); }

}  // namespace obol::model::gpu
