#include "obol/base/error.h"
#include "obol/model/gpu.h"

namespace obol::model::gpu {
namespace {

[[noreturn]] void refuse() {
  throw InvalidArgument(
      violation("a tensor", "on the processor: this build has no CUDA", "on a GPU"));
}

}  // namespace

bool takes(const torch::Tensor& /*x*/) { return false; }

torch::Tensor norm_train(NormActivationImpl& /*norm*/, const torch::Tensor& /*x*/) { refuse(); }

torch::Tensor norm_evaluate(const NormActivationImpl& /*norm*/, const torch::Tensor& /*x*/) {
  refuse();
}

torch::Tensor conv_transpose_few(const torch::Tensor& /*x*/, const torch::Tensor& /*weight*/,
                                 const torch::Tensor& /*bias*/, std::int64_t /*padding*/) {
  refuse();
}

}  // namespace obol::model::gpu
