#include "obol/method/gs_wgan/lesson.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <variant>
#include <vector>

#include "obol/barrier/records.h"

namespace obol::method::gs_wgan {

using torch::Tensor;

Records store(const data::Dataset& shard, const torch::Device& device) {
  const data::ImageShape& shape = shard.shape;
  const std::vector<std::int64_t> sizes{shard.count(), shape.channels, shape.height, shape.width};
  Records records;
  records.images = std::visit(
      [&](const auto& pixels) {
        using T = typename std::decay_t<decltype(pixels)>::value_type;
        Tensor copy = torch::empty(sizes, c10::CppTypeToScalarType<T>::value);
        std::copy(pixels.begin(), pixels.end(), copy.template data_ptr<T>());
        return copy;
      },
      shard.pixels);
  records.images = records.images.to(device);
  records.labels = torch::zeros({shard.count()}, torch::kLong);
  std::copy(shard.labels.begin(), shard.labels.end(), records.labels.data_ptr<std::int64_t>());
  records.labels = records.labels.to(device);
  return records;
}

Tensor random_indices(std::int64_t below, std::int64_t count, RandomBits& bits) {
  Tensor indices = torch::empty({count}, torch::kLong);
  auto* values = indices.data_ptr<std::int64_t>();
  for (std::int64_t k = 0; k < count; ++k)
    values[k] = static_cast<std::int64_t>(bits.below(static_cast<std::uint64_t>(below)));
  return indices;
}

Tensor Teacher::teach(const CriticState& state, const Records& records, const Lesson& lesson,
                      const Question& question) const {
  const torch::NoGradGuard no_grad;
  const std::int64_t steps = question.images.size(0);
  const std::int64_t n = question.images.size(1);
  const Tensor real = barrier::in_range(records.images.index_select(0, lesson.chosen), lowest);
  const Tensor real_labels = records.labels.index_select(0, lesson.chosen);
  CriticState own = state;  // the same numbers
  for (std::int64_t k = 0; k < steps; ++k)
    critic.train(own,
                 {.real = real.narrow(0, k * n, n),
                  .real_labels = real_labels.narrow(0, k * n, n),
                  .fake = question.images[k],
                  .fake_labels = question.labels[k],
                  .mix = lesson.mix.narrow(0, k * n, n)},
                 training);
  return critic.image_gradient(own, question.images[steps - 1], question.labels[steps - 1]).neg_();
}

}  // namespace obol::method::gs_wgan
