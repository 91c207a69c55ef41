#include "obol/method/gs_wgan/holder.h"

#include <algorithm>
#include <mutex>
#include <variant>
#include <vector>

#include "obol/base/error.h"

namespace obol::method::gs_wgan {
namespace {

using torch::Tensor;

// Networks are made with torch's one generator of random numbers.
std::mutex making;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

Tensor random_indices(std::int64_t below, std::int64_t count, RandomBits& bits) {
  Tensor indices = torch::empty({count}, torch::kLong);
  auto* values = indices.data_ptr<std::int64_t>();
  for (std::int64_t k = 0; k < count; ++k)
    values[k] = static_cast<std::int64_t>(bits.below(static_cast<std::uint64_t>(below)));
  return indices;
}

Tensor random_shares(std::int64_t count, RandomBits& bits) {
  Tensor shares = torch::empty({count, 1, 1, 1});
  auto* values = shares.data_ptr<float>();
  for (std::int64_t k = 0; k < count; ++k)
    values[k] = static_cast<float>(static_cast<double>(bits() >> 11) * 0x1p-53);
  return shares;
}

// Bytes, or numbers in [0, 1], to [lowest, 1].
Tensor in_range(const Tensor& pixels, double lowest) {
  const double white = pixels.scalar_type() == torch::kByte ? 255 : 1;
  return pixels.to(torch::kFloat).mul_((1 - lowest) / white).add_(lowest);
}

}  // namespace

Asked ask(Trainee& trainee, std::int64_t classes, std::int64_t steps, std::int64_t n,
          RandomBits& bits) {
  const Tensor labels = random_indices(classes, steps * n, bits).to(trainee.device());
  const std::int64_t before = (steps - 1) * n;
  std::vector<Tensor> parts;
  if (before > 0) {
    const torch::NoGradGuard no_grad;
    parts.push_back(trainee.generate(labels.narrow(0, 0, before), bits));
  }
  Asked asked;
  asked.last = trainee.generate(labels.narrow(0, before, n), bits);
  parts.push_back(asked.last.detach());
  const Tensor images = torch::cat(parts);
  asked.question.images = images.unflatten(0, {steps, n});
  asked.question.labels = labels.view({steps, n});
  return asked;
}

Holder::Records Holder::store(const data::Dataset& shard, const torch::Device& device) {
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

Holder::Holder(const Critic& critic, const CriticTraining& training,
               const Private<data::Dataset>& shard, const torch::Device& device, double lowest,
               RandomBits& bits)
    : critic_(critic),
      training_(training),
      facts_(shard.facts()),
      device_(device),
      lowest_(lowest),
      bits_(bits),
      records_(shard.map([&](const data::Dataset& data) { return store(data, device); })) {}

void Holder::train(const Records& records, CriticState& state, const Question& question) {
  const torch::NoGradGuard no_grad;
  const std::int64_t steps = question.images.size(0);
  const std::int64_t n = question.images.size(1);
  const Tensor chosen = random_indices(records.images.size(0), steps * n, bits_).to(device_);
  const Tensor mix = random_shares(steps * n, bits_).to(device_);
  const Tensor real = in_range(records.images.index_select(0, chosen), lowest_);
  const Tensor real_labels = records.labels.index_select(0, chosen);
  for (std::int64_t k = 0; k < steps; ++k)
    critic_.train(state,
                  {.real = real.narrow(0, k * n, n),
                   .real_labels = real_labels.narrow(0, k * n, n),
                   .fake = question.images[k],
                   .fake_labels = question.labels[k],
                   .mix = mix.narrow(0, k * n, n)},
                  training_);
}

std::optional<Private<CriticState>> Holder::warm_start(const WarmStart& how,
                                                       const std::function<bool()>& stop) {
  bool is_stopped = false;
  auto state = records_.map([&](const Records& records) {
    std::unique_lock<std::mutex> lock(making);
    torch::manual_seed(bits_());
    Trainee own({how.generator, how.optimizer}, facts_.shape, facts_.num_classes, device_);
    lock.unlock();
    CriticState result = critic_.initial(bits_, device_);
    for (std::int64_t step = 1; step <= how.steps && !is_stopped; ++step) {
      own.begin(step, how.steps);
      const Asked asked = ask(own, classes_of(facts_), how.critic_steps, how.batch, bits_);
      train(records, result, asked.question);
      const Tensor last = asked.question.images[how.critic_steps - 1];
      const Tensor gradient =
          critic_.image_gradient(result, last, asked.question.labels[how.critic_steps - 1]);
      asked.last.backward(gradient / -static_cast<double>(how.batch));
      own.finish();
      is_stopped = stop();
    }
    return result;
  });
  if (is_stopped) return std::nullopt;
  return state;
}

Private<Tensor> Holder::answer(const Private<CriticState>& state, const Question& question) {
  return records_.map_with(state, [&](const Records& records, const CriticState& shared) {
    CriticState own = shared;  // the same numbers
    train(records, own, question);
    const std::int64_t last = question.images.size(0) - 1;
    return critic_.image_gradient(own, question.images[last], question.labels[last]).neg_();
  });
}

}  // namespace obol::method::gs_wgan
