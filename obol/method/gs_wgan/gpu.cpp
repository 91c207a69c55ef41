#include "obol/method/gs_wgan/gpu.h"

#include <vector>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "obol/cuda/error.h"

namespace obol::method::gs_wgan::gpu {

std::int64_t free_bytes(const torch::Device& device) {
  const c10::cuda::CUDAGuard guard(device);
  std::size_t free = 0;
  std::size_t total = 0;
  obol::cuda::check(cudaMemGetInfo(&free, &total), "asking for the free memory");
  return static_cast<std::int64_t>(free);
}

struct Branches::Streams {
  torch::Device device;
  std::vector<c10::cuda::CUDAStream> side;
};

Branches::Branches(const torch::Device& device, std::size_t count) : count_(count) {
  if (!device.is_cuda()) return;
  streams_ = std::make_unique<Streams>(Streams{device, {}});
  for (std::size_t k = 0; k < count; ++k)
    streams_->side.push_back(
        c10::cuda::getStreamFromPool(/*isHighPriority=*/false, device.index()));
}

Branches::~Branches() = default;

void Branches::run(const std::function<void(std::size_t)>& work) const {
  if (!streams_) {
    for (std::size_t k = 0; k < count_; ++k) work(k);
    return;
  }
  const auto current = c10::cuda::getCurrentCUDAStream(streams_->device.index());
  at::cuda::CUDAEvent begun;
  begun.record(current);
  for (std::size_t k = 0; k < count_; ++k) {
    const c10::cuda::CUDAStream& side = streams_->side[k];
    begun.block(side);
    {
      const c10::cuda::CUDAStreamGuard guard(side);
      work(k);
    }
    at::cuda::CUDAEvent done;
    done.record(side);
    done.block(current);
  }
}

}  // namespace obol::method::gs_wgan::gpu
