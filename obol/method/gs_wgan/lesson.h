// What a critic is taught with: records, images of a generator, and random numbers that say which
// records and how to mix the two.
//
//   const Teacher teacher{critic, training, lowest};
//   torch::Tensor answer = teacher.teach(state, records, {chosen, mix}, question);
//
// A holder (holder.h) draws the numbers from its own bits; a desk (desk.h) draws them on the device
// in a step that is recorded.
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/model/critic.h"

namespace obol::method::gs_wgan {

using model::Critic;
using model::CriticState;
using model::CriticTraining;

struct Records {
  torch::Tensor images;  // [m, channels, height, width], bytes or floats in [0, 1]
  torch::Tensor labels;  // [m]
};

Records store(const data::Dataset& shard, const torch::Device& device);

// Images that are sent to a holder: one batch for each step of its critic.
struct Question {
  torch::Tensor images;  // [steps, n, channels, height, width]
  torch::Tensor labels;  // [steps, n]
};

// `count` numbers below `below`, of `bits`.
torch::Tensor random_indices(std::int64_t below, std::int64_t count, RandomBits& bits);

struct Lesson {
  torch::Tensor chosen;  // [steps * n]: which records
  torch::Tensor mix;     // [steps * n, 1, 1, 1]: see CriticBatch
};

struct Teacher {
  const Critic& critic;
  CriticTraining training;
  double lowest;  // what a black pixel of a record counts

  // Trains the critic in place, one step on each batch, and gives the gradient of minus its scores
  // of the last: [n, channels, height, width]. Never waits for the device.
  [[nodiscard]] torch::Tensor teach(const CriticState& state, const Records& records,
                                    const Lesson& lesson, const Question& question) const;
};

}  // namespace obol::method::gs_wgan
