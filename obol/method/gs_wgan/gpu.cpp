#include "obol/method/gs_wgan/gpu.h"

#include <vector>

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "obol/cuda/error.h"
#include "obol/method/gs_wgan/cuda/critic.h"

namespace obol::method::gs_wgan::gpu {
namespace {

using torch::Tensor;

cudaStream_t stream_of(const Tensor& tensor) {
  return c10::cuda::getCurrentCUDAStream(tensor.device().index());
}

float* numbers_of(const Tensor& tensor) { return tensor.data_ptr<float>(); }

cuda::Matrices places_of(const std::vector<Matrix>& matrices) {
  cuda::Matrices places{};
  for (const Matrix& one : matrices)
    places.of[places.count++] = {.rows = static_cast<int>(one.rows),
                                 .columns = static_cast<int>(one.columns),
                                 .positions = static_cast<int>(one.positions),
                                 .at = one.at,
                                 .vectors_at = one.vectors_at};
  return places;
}

}  // namespace

void iterate(const std::vector<Matrix>& matrices, const Tensor& weights, const Tensor& vectors) {
  cuda::iterate(places_of(matrices), numbers_of(weights), numbers_of(vectors), stream_of(weights));
}

Normalised normalised(const std::vector<Matrix>& matrices, const Tensor& weights,
                      const Tensor& vectors) {
  const cuda::Matrices places = places_of(matrices);
  Normalised result{torch::empty({places.count}, weights.options()), torch::empty_like(weights)};
  cuda::norms(places, numbers_of(weights), numbers_of(vectors), numbers_of(result.norms),
              stream_of(weights));
  cuda::normalise(places, numbers_of(weights), numbers_of(result.norms),
                  numbers_of(result.matrices), stream_of(weights));
  return result;
}

void through_norms(const std::vector<Matrix>& matrices, const std::vector<Gradient>& gradients,
                   const Tensor& weights, const Tensor& vectors, const Tensor& result) {
  cuda::Gradients all{};
  for (std::size_t k = 0; k < gradients.size(); ++k)
    all.of[k] = {numbers_of(gradients[k].of_normalised), numbers_of(gradients[k].norm)};
  const cuda::Matrices places = places_of(matrices);
  const Tensor along = torch::empty({places.count}, weights.options());
  cuda::through_norms(places, all, numbers_of(weights), numbers_of(vectors), numbers_of(along),
                      numbers_of(result), stream_of(weights));
}

void update(const Adam& how, const Tensor& gradient, const Tensor& weights, const Tensor& first,
            const Tensor& second) {
  cuda::adam({.rate = static_cast<float>(how.rate),
              .beta1 = static_cast<float>(how.beta1),
              .beta2 = static_cast<float>(how.beta2)},
             numbers_of(gradient), numbers_of(how.steps), numbers_of(weights), numbers_of(first),
             numbers_of(second), weights.numel(), stream_of(weights));
}

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
