// One who holds data: trains a critic on them and on the images that come from the generator's
// side, and answers with the critic's opinion of the last of these. What it answers is private; a
// ShardBarrier lets it out.
//
//   Holder holder(critic, {.training = ..., .warm_start = 2000}, shard, bits);
//   Private<CriticState> state = holder.warm_start(generator_options);
//   Private<torch::Tensor> answer = holder.answer(state, images, labels);
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include <torch/torch.h>

#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/method/gs_wgan/lesson.h"
#include "obol/method/trainee.h"

namespace obol::method::gs_wgan {

struct WarmStart {
  std::int64_t steps = 2000;  // of the generator that goes with the critic
  std::int64_t critic_steps = 5;
  std::int64_t batch = 32;
  model::GeneratorOptions generator;
  OptimizerOptions optimizer;
};

class Holder {
 public:
  // `critic` and `bits` must outlive this. InvalidArgument where there are no records.
  Holder(const Critic& critic, const CriticTraining& training, const Private<data::Dataset>& shard,
         const torch::Device& device, double lowest, RandomBits& bits);

  // A critic that has played against a generator of its own. Nothing where `stop` said so.
  std::optional<Private<CriticState>> warm_start(const WarmStart& how,
                                                 const std::function<bool()>& stop);

  // Trains the critic, one step on each batch, and gives the gradient of minus its scores of the
  // last: [n, channels, height, width].
  Private<torch::Tensor> answer(const Private<CriticState>& state, const Question& question);
  // What the critic gives, on average, to records here and to the last images of the question, as
  // many of both at most: [2].
  [[nodiscard]] Private<torch::Tensor> mean_scores(const Private<CriticState>& state,
                                                   const Question& question) const;

  // For those who train this holder's critic elsewhere.
  [[nodiscard]] const Teacher& teacher() const noexcept { return teacher_; }
  [[nodiscard]] const data::Dataset::PublicFacts& facts() const noexcept { return facts_; }
  [[nodiscard]] const torch::Device& device() const noexcept { return device_; }
  [[nodiscard]] const Private<Records>& records() const noexcept { return records_; }
  // Random weights.
  Private<CriticState> initial();

 private:
  torch::Tensor teach(const Records& records, const CriticState& state, const Question& question);

  Teacher teacher_;
  data::Dataset::PublicFacts facts_;
  torch::Device device_;
  RandomBits& bits_;
  Private<Records> records_;
};

}  // namespace obol::method::gs_wgan
