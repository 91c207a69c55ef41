#include "obol/barrier/gpu.h"
#include "obol/base/error.h"

namespace obol::barrier::gpu {
namespace {

[[noreturn]] void refuse() { throw Error("this build of Obol has no CUDA"); }

}  // namespace

struct Bits::State {};

Bits::Bits(RandomBits& /*bits*/, const torch::Device& /*device*/) { refuse(); }
Bits::~Bits() = default;

torch::Tensor with_noise(Bits& /*bits*/, const torch::Tensor& /*values*/,
                         const privacy::GaussianNoise& /*noise*/) {
  refuse();
}

torch::Tensor clipped_rows(const torch::Tensor& /*values*/, double /*bound*/) { refuse(); }

torch::Tensor clipped_with_noise(Bits& /*bits*/, const torch::Tensor& /*values*/, double /*bound*/,
                                 const privacy::GaussianNoise& /*noise*/) {
  refuse();
}

void clipped_weights(torch::Tensor& /*products*/, const torch::Tensor& /*squares*/,
                     const torch::Tensor& /*potentials*/, const torch::Tensor& /*sample_squares*/,
                     const PullOptions& /*options*/) {
  refuse();
}

Tables::Tables(std::int64_t /*steps*/, std::int64_t /*classes*/, std::int64_t /*capacity*/,
               const torch::Device& /*device*/) {
  refuse();
}

void draw(Bits& /*bits*/, const torch::Tensor& /*class_ends*/, std::int64_t /*records*/,
          double /*rate*/, const Tables& /*tables*/, Draw /*which*/) {
  refuse();
}

Gathered gather(const torch::Tensor& /*records*/, const Tables& /*tables*/,
                const torch::Tensor& /*slot*/, const Range& /*range*/) {
  refuse();
}

}  // namespace obol::barrier::gpu
