#include "obol/base/no_cuda.h"
#include "obol/method/gs_wgan/gpu.h"

namespace obol::method::gs_wgan::gpu {

std::int64_t free_bytes(const torch::Device&) { no_cuda(); }

struct Branches::Streams {};
Branches::Branches(const torch::Device&, std::size_t count) : count_(count) {}
Branches::~Branches() = default;
void Branches::run(const std::function<void(std::size_t)>& work) const {
  for (std::size_t k = 0; k < count_; ++k) work(k);
}

}  // namespace obol::method::gs_wgan::gpu
