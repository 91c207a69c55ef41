// The exponential moving average of a generator's weights: what is released in place of the last
// step's weights, whose noise it averages out.
//
//   WeightAverage average(*generator, 0.999);
//   average.update(*generator);          // after every step
//   copy_state(*generator, *released);   // another generator of the same make
//   average.copy_to(*released);
//   recompute_statistics(*released, 5000, bits);
#pragma once

#include <cstdint>
#include <vector>

#include <torch/torch.h>

#include "obol/base/random.h"
#include "obol/model/generator.h"

namespace obol::model {

// The share of a step's weights in the average, t steps having been taken before: that keeps
// min(decay, (t + 1)/(t + 10)) of what it was, so that the random weights of the start are soon
// forgotten.
double share_of_step(double decay, std::int64_t t);

// Parameters and buffers.
void copy_state(const torch::nn::Module& from, torch::nn::Module& to);

// Of the parameters; buffers are not averaged.
class WeightAverage {
 public:
  WeightAverage(const torch::nn::Module& module, double decay);
  void update(const torch::nn::Module& module);
  void copy_to(torch::nn::Module& module) const;

  // Everything that a checkpoint must hold; the tensors can be written to. Whoever averages them
  // itself says how many steps that were.
  [[nodiscard]] std::int64_t steps() const noexcept { return steps_; }
  void set_steps(std::int64_t steps) { steps_ = steps; }
  [[nodiscard]] const std::vector<torch::Tensor>& parameters() const noexcept {
    return parameters_;
  }

 private:
  double decay_;
  std::int64_t steps_ = 0;
  std::vector<torch::Tensor> parameters_;
};

// Mean and variance of every batch normalisation, anew from about `images` generated images (in
// batches, labels in turn): averaged weights need their own.
void recompute_statistics(Generator& generator, std::int64_t images, RandomBits& bits);

}  // namespace obol::model
