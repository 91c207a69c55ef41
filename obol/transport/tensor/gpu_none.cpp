#include "obol/base/error.h"
#include "obol/transport/tensor/gpu.h"

namespace obol::transport::gpu {
namespace {

[[noreturn]] void refuse() {
  throw InvalidArgument(
      violation("a tensor", "on the processor: this build has no CUDA", "on a GPU"));
}

}  // namespace

std::vector<torch::Tensor> cost_matrices(const PointPairs& /*pairs*/, const Cost& /*cost*/) {
  refuse();
}
torch::Tensor cost_gradient(const torch::Tensor& /*x*/, const torch::Tensor& /*y*/,
                            const torch::Tensor& /*plan*/, const Cost& /*cost*/) {
  refuse();
}
std::vector<Solution> solve(const std::vector<Block>& /*blocks*/,
                            const SinkhornOptions& /*options*/, Side /*side*/,
                            const std::vector<Solution>& /*starts*/) {
  refuse();
}
torch::Tensor plan_rows(const Block& /*block*/, const Solution& /*solution*/,
                        std::int64_t /*begin*/, std::int64_t /*end*/) {
  refuse();
}

}  // namespace obol::transport::gpu
