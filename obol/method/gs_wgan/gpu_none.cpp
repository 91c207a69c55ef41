#include "obol/base/error.h"
#include "obol/method/gs_wgan/gpu.h"

namespace obol::method::gs_wgan::gpu {
namespace {

[[noreturn]] void refuse() {
  throw InvalidArgument(violation("the device", "the processor: this build has no CUDA", "a GPU"));
}

}  // namespace

std::int64_t free_bytes(const torch::Device& /*device*/) { refuse(); }

void iterate(const std::vector<Matrix>& /*matrices*/, const torch::Tensor& /*weights*/,
             const torch::Tensor& /*vectors*/) {
  refuse();
}
Normalised normalised(const std::vector<Matrix>& /*matrices*/, const torch::Tensor& /*weights*/,
                      const torch::Tensor& /*vectors*/) {
  refuse();
}
void through_norms(const std::vector<Matrix>& /*matrices*/,
                   const std::vector<Gradient>& /*gradients*/, const torch::Tensor& /*weights*/,
                   const torch::Tensor& /*vectors*/, const torch::Tensor& /*result*/) {
  refuse();
}
void update(const Adam& /*how*/, const torch::Tensor& /*gradient*/,
            const torch::Tensor& /*weights*/, const torch::Tensor& /*first*/,
            const torch::Tensor& /*second*/) {
  refuse();
}

struct Branches::Streams {};

Branches::Branches(const torch::Device& /*device*/, std::size_t count) : count_(count) {}
Branches::~Branches() = default;

void Branches::run(const std::function<void(std::size_t)>& work) const {
  for (std::size_t k = 0; k < count_; ++k) work(k);
}

}  // namespace obol::method::gs_wgan::gpu
