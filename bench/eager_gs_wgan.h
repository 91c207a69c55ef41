// A generator step of GS-WGAN in torch's own operators: a penalty that torch differentiates twice,
// images made anew for each step of the critic.
//
//   EagerCritic critic(ours, state);                      // a copy of its weights
//   critic.loss(batch, training).backward();
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "bench/eager_generator.h"
#include "obol/model/critic.h"

namespace obol::bench {

class EagerCritic {
 public:
  EagerCritic(const model::Critic& like, const model::CriticState& state);

  // One power iteration of every matrix.
  void iterate();
  // [n]
  [[nodiscard]] torch::Tensor scores(const torch::Tensor& images,
                                     const torch::Tensor& labels) const;
  [[nodiscard]] torch::Tensor loss(const model::CriticBatch& batch,
                                   const model::CriticTraining& training) const;

  // Leaves that ask for gradients, by the names that the other critic has for its parts.
  [[nodiscard]] const std::map<std::string, torch::Tensor>& leaves() const { return leaves_; }
  [[nodiscard]] std::vector<torch::Tensor> parameters() const;

 private:
  struct Vectors {
    torch::Tensor left;
    torch::Tensor right;
  };
  [[nodiscard]] torch::Tensor normalised(const std::string& name) const;

  std::map<std::string, torch::Tensor> leaves_;
  std::map<std::string, Vectors> vectors_;
};

class EagerGsWgan {
 public:
  struct Size {
    std::int64_t batch;
    std::int64_t critic_steps;
  };
  // `real`: [m, channels, height, width] in [0, 1], of classes 0 to `classes` - 1.
  EagerGsWgan(EagerCritic critic, EagerGenerator generator, torch::Tensor real, const Size& size);
  void step(std::int64_t latent, std::int64_t classes);

 private:
  EagerCritic critic_;
  EagerGenerator generator_;
  torch::Tensor real_;
  Size size_;
  torch::optim::Adam of_critic_;
  torch::optim::Adam of_generator_;
};

}  // namespace obol::bench
