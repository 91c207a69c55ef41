#include "obol/model/critic_gpu.h"

#include <cstddef>

#include <c10/cuda/CUDAStream.h>

#include "obol/model/cuda/critic.h"

namespace obol::model::gpu {
namespace {

using torch::Tensor;

cudaStream_t critic_stream(const Tensor& tensor) {
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
  cuda::iterate(places_of(matrices), numbers_of(weights), numbers_of(vectors),
                critic_stream(weights));
}

Normalised normalised(const std::vector<Matrix>& matrices, const Tensor& weights,
                      const Tensor& vectors) {
  const cuda::Matrices places = places_of(matrices);
  Normalised result{torch::empty({places.count}, weights.options()), torch::empty_like(weights)};
  cuda::norms(places, numbers_of(weights), numbers_of(vectors), numbers_of(result.norms),
              critic_stream(weights));
  cuda::normalise(places, numbers_of(weights), numbers_of(result.norms),
                  numbers_of(result.matrices), critic_stream(weights));
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
                      numbers_of(result), critic_stream(weights));
}

void update(const Adam& how, const Tensor& gradient, const Tensor& weights, const Tensor& first,
            const Tensor& second) {
  cuda::adam({.rate = static_cast<float>(how.rate),
              .beta1 = static_cast<float>(how.beta1),
              .beta2 = static_cast<float>(how.beta2)},
             numbers_of(gradient), numbers_of(how.steps), numbers_of(weights), numbers_of(first),
             numbers_of(second), weights.numel(), critic_stream(weights));
}

}  // namespace obol::model::gpu
