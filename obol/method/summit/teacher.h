// A private linear classifier: softmax regression on group-normalised scattering, trained by noisy
// sums of clipped gradients (Abadi et al. 2016; Tramer and Boneh 2021 for the features).
//
//   Teacher teacher(options, {1, 28, 28}, classes, records, device);
//   teacher.step(step, door, records, noise_multiplier, bits);    // options.teacher_steps of them
//   teacher.logits(scattering(images))                            // differentiable
//   teacher.classifier().bytes()                                  // teacher.safetensors
//
// Guarantee: the gradient of one record is the outer product of its residual (the class
// probabilities less its label) and its features; it is clipped in closed form
// (obol/barrier/outer.h). Each step is one event SampledGaussian(teacher_rate, noise_multiplier).
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "obol/barrier/door.h"
#include "obol/barrier/records.h"
#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/method/summit/options.h"
#include "obol/model/scattering_classifier.h"
#include "obol/run/checkpoint.h"

namespace obol::method::summit {

class Teacher {
 public:
  // `records` is the public number of records.
  Teacher(const TeacherOptions& options, const data::ImageShape& shape, std::int64_t classes,
          std::int64_t records, const torch::Device& device);

  // Of images [n, pixels]: [n, d], on the barrier's grid, each row from its own record alone.
  [[nodiscard]] torch::Tensor of_records(const torch::Tensor& images) const;

  // Step `step` of options.teacher_steps, from 1. `records` are features of records.
  void step(std::int64_t step, barrier::Door& door, barrier::PrivateRecords& records,
            double noise_multiplier, RandomBits& bits);

  // Of scattering [n, channels, h, w]: [n, classes], from the average of the weights over the
  // second half of the steps.
  [[nodiscard]] torch::Tensor logits(const torch::Tensor& scattered) const {
    return classifier_.logits(scattered);
  }
  // With that average, as it is now. Before there is one, its weights are zero.
  [[nodiscard]] const model::ScatteringClassifier& classifier() const { return classifier_; }
  [[nodiscard]] bool has_learnt() const;

  void save(run::Sections& sections) const;
  void load(const run::Sections& sections);

 private:
  TeacherOptions options_;
  model::ScatteringClassifier classifier_;  // its weights [classes, d] are the average
  double expected_;                         // records of a step
  torch::Tensor weights_;                   // those of the step, [classes, d], double
  torch::Tensor momentum_;                  // [classes, d]
};

// Softmax of `gain` weights . features less the one-hot labels, [m, classes]. Each row depends on
// its own record alone, to the last bit: features are on the barrier's grid and the weights are
// rounded to one, on which the products are exact.
torch::Tensor residuals(const torch::Tensor& features, const torch::Tensor& labels,
                        const torch::Tensor& weights, double gain);

}  // namespace obol::method::summit
