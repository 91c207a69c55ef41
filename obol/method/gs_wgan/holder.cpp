#include "obol/method/gs_wgan/holder.h"

#include <algorithm>
#include <mutex>

#include "obol/barrier/records.h"
#include "obol/method/gs_wgan/ask.h"

namespace obol::method::gs_wgan {
namespace {

using torch::Tensor;

// Networks are made with torch's one generator of random numbers.
std::mutex making;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

Tensor random_shares(std::int64_t count, RandomBits& bits) {
  Tensor shares = torch::empty({count, 1, 1, 1});
  auto* values = shares.data_ptr<float>();
  for (std::int64_t k = 0; k < count; ++k)
    values[k] = static_cast<float>(static_cast<double>(bits() >> 11) * 0x1p-53);
  return shares;
}

}  // namespace

Holder::Holder(const Critic& critic, const CriticTraining& training,
               const Private<data::Dataset>& shard, const torch::Device& device, double lowest,
               RandomBits& bits)
    : teacher_{critic, training, lowest},
      facts_(shard.facts()),
      device_(device),
      bits_(bits),
      records_(shard.map([&](const data::Dataset& data) { return store(data, device); })) {}

Private<CriticState> Holder::initial() {
  return Private<CriticState>(teacher_.critic.initial(bits_, device_));
}

Tensor Holder::teach(const Records& records, const CriticState& state, const Question& question) {
  const std::int64_t draws = question.labels.numel();
  Lesson lesson;
  lesson.chosen = random_indices(records.images.size(0), draws, bits_).to(device_);
  lesson.mix = random_shares(draws, bits_).to(device_);
  return teacher_.teach(state, records, lesson, question);
}

std::optional<Private<CriticState>> Holder::warm_start(const WarmStart& how,
                                                       const std::function<bool()>& stop) {
  bool is_stopped = false;
  auto state = records_.map([&](const Records& records) {
    std::unique_lock<std::mutex> lock(making);
    torch::manual_seed(bits_());
    Trainee own({how.generator, how.optimizer}, facts_.shape, facts_.num_classes, device_);
    lock.unlock();
    const CriticState result = teacher_.critic.initial(bits_, device_);
    for (std::int64_t step = 1; step <= how.steps && !is_stopped; ++step) {
      own.begin(step, how.steps);
      const Asked asked = ask(own, classes_of(facts_), how.critic_steps, how.batch, bits_);
      const Tensor answer = teach(records, result, asked.question);
      asked.last.backward(answer / static_cast<double>(how.batch));
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
    return teach(records, shared, question);
  });
}

Private<Tensor> Holder::mean_scores(const Private<CriticState>& state,
                                    const Question& question) const {
  return records_.map_with(state, [&](const Records& records, const CriticState& shared) {
    const Tensor fake = question.images[-1];
    const std::int64_t count = std::min(records.images.size(0), fake.size(0));
    const Tensor real = barrier::in_range(records.images.narrow(0, 0, count), teacher_.lowest);
    const auto mean = [&](const Tensor& images, const Tensor& labels) {
      return teacher_.critic.scores(shared, images, labels).mean();
    };
    return torch::stack(
        {mean(real, records.labels.narrow(0, 0, count)), mean(fake, question.labels[-1])});
  });
}

}  // namespace obol::method::gs_wgan
