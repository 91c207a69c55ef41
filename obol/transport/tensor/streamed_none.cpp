#include "obol/base/error.h"
#include "obol/transport/tensor/streamed.h"

namespace obol::transport::streamed {
namespace {

[[noreturn]] void refuse() { throw Error("this build of Obol has no CUDA"); }

}  // namespace

torch::Tensor gradient(const Sides& /*sides*/, const SinkhornOptions& /*options*/) { refuse(); }

torch::Tensor self_gradient(const Own& /*own*/, const SinkhornOptions& /*options*/) { refuse(); }

torch::Tensor potentials(const torch::Tensor& /*x*/, const torch::Tensor& /*y*/,
                         std::int64_t /*classes*/, double /*regularization*/,
                         std::int64_t /*iterations*/) {
  refuse();
}

}  // namespace obol::transport::streamed
