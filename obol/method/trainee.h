// A generator in training: the network, its optimiser, and the average of its weights that is
// released.
//
//   Trainee trainee({.generator = ..., .optimizer = ..., .average = 0.99}, {1, 28, 28}, 10,
//   device); trainee.begin(step, steps); trainee.generate(labels, bits).backward(gradient);
//   trainee.finish();
//
// On a GPU generate and finish may be part of a recorded step; begin is not.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "obol/barrier/records.h"
#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/method/device_optimizer.h"
#include "obol/method/optimizer_options.h"
#include "obol/model/average.h"
#include "obol/model/generator.h"
#include "obol/run/checkpoint.h"
#include "obol/run/grid.h"

namespace obol::method {

struct TraineeOptions {
  model::GeneratorOptions generator;
  OptimizerOptions optimizer;
  double average = 0;  // decay of the released moving average of the weights; 0: none
};

class Trainee {
 public:
  Trainee(const TraineeOptions& options, const data::ImageShape& shape, std::int64_t num_classes,
          const torch::Device& device);

  // Step `step` of `steps`, from 1. Returns the learning rate.
  double begin(std::int64_t step, std::int64_t steps);
  // After the gradients of the parameters are there.
  void finish();
  // On a GPU: [1] of int64, the number of the step under way.
  [[nodiscard]] const torch::Tensor& step() const { return on_device_->step(); }

  // One image for each label, differentiable: [n, channels, height, width]. Latent vectors are of
  // `bits`, on a GPU of torch's own generator.
  torch::Tensor generate(const torch::Tensor& labels, RandomBits& bits);
  [[nodiscard]] std::vector<torch::Tensor> parameters() const { return generator_->parameters(); }
  [[nodiscard]] const torch::Device& device() const noexcept { return device_; }

  // New random weights, of torch's generator, in the same tensors; no step taken.
  void restart();
  void save(run::Sections& sections);
  void load(const run::Sections& sections);

  // The network that is released, as it is now: averaged, with statistics of its own. In evaluation
  // mode.
  std::shared_ptr<model::Generator> released(RandomBits& bits);
  // Ten of each class, class by class; without classes, a hundred.
  run::Samples samples(RandomBits& bits);

 private:
  TraineeOptions options_;
  torch::Device device_;
  std::shared_ptr<model::Generator> generator_;
  std::optional<model::WeightAverage> average_;
  std::shared_ptr<model::Generator> released_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
  std::optional<DeviceOptimizer> on_device_;  // does its work on a GPU
};

// What a pixel of a record counts: -1 or 0 for black, 1 for white.
double lowest_of(const model::GeneratorOptions& options);

using barrier::classes_of;

}  // namespace obol::method
