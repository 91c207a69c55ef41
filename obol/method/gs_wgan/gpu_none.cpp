#include "obol/base/no_cuda.h"
#include "obol/method/gs_wgan/gpu.h"

namespace obol::method::gs_wgan::gpu {

using torch::Tensor;
using Matrices = std::vector<Matrix>;

std::int64_t free_bytes(const torch::Device&) { no_cuda(); }
void iterate(const Matrices&, const Tensor&, const Tensor&) { no_cuda(); }
Normalised normalised(const Matrices&, const Tensor&, const Tensor&) { no_cuda(); }
void through_norms(const Matrices&, const std::vector<Gradient>&, const Tensor&, const Tensor&,
                   const Tensor&) {
  no_cuda();
}
void update(const Adam&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) { no_cuda(); }

struct Branches::Streams {};
Branches::Branches(const torch::Device&, std::size_t count) : count_(count) {}
Branches::~Branches() = default;
void Branches::run(const std::function<void(std::size_t)>& work) const {
  for (std::size_t k = 0; k < count_; ++k) work(k);
}

}  // namespace obol::method::gs_wgan::gpu
