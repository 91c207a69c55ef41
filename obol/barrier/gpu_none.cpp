#include "obol/barrier/gpu.h"
#include "obol/base/no_cuda.h"

namespace obol::barrier::gpu {

using torch::Tensor;
using Noise = privacy::GaussianNoise;

struct Bits::State {};
Bits::Bits(RandomBits&, const torch::Device&) { no_cuda(); }
Bits::~Bits() = default;

Tables::Tables(std::int64_t, std::int64_t, std::int64_t, const torch::Device&) { no_cuda(); }

Tensor with_noise(Bits&, const Tensor&, const Noise&) { no_cuda(); }
Tensor clipped_rows(const Tensor&, double) { no_cuda(); }
Tensor clipped_with_noise(Bits&, const Tensor&, double, const Noise&) { no_cuda(); }
void clipped_weights(Tensor&, const Tensor&, const Tensor&, const Tensor&, const PullOptions&) {
  no_cuda();
}
void draw(Bits&, const Tensor&, std::int64_t, double, const Tables&, Draw) { no_cuda(); }
Gathered gather(const Tensor&, const Tables&, const Tensor&, const Range&) { no_cuda(); }

}  // namespace obol::barrier::gpu
