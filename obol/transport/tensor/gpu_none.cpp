#include "obol/base/no_cuda.h"
#include "obol/transport/tensor/gpu.h"
#include "obol/transport/tensor/streamed.h"

namespace obol::transport {

using torch::Tensor;

namespace gpu {

using Solutions = std::vector<Solution>;

std::vector<Tensor> cost_matrices(const PointPairs&, const Cost&) { no_cuda(); }
Tensor cost_gradient(const Tensor&, const Tensor&, const Tensor&, const Cost&) { no_cuda(); }
Solutions solve(const std::vector<Block>&, const SinkhornOptions&, Side, const Solutions&) {
  no_cuda();
}
Tensor plan_rows(const Block&, const Solution&, std::int64_t, std::int64_t) { no_cuda(); }

}  // namespace gpu

namespace streamed {

Tensor gradient(const Sides&, const SinkhornOptions&) { no_cuda(); }
Tensor self_gradient(const Own&, const SinkhornOptions&) { no_cuda(); }
Tensor potentials(const Tensor&, const Tensor&, std::int64_t, double, std::int64_t) { no_cuda(); }

}  // namespace streamed
}  // namespace obol::transport
