// The step with the record barrier: every private record pulls generated rows towards itself, the
// sum of pulls is released, and generated rows of another batch push them apart.
#pragma once

#include <cstdint>
#include <vector>

#include <torch/torch.h>

#include "obol/barrier/barrier.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/method/dp_sinkhorn/step.h"
#include "obol/method/features.h"

namespace obol::method::dp_sinkhorn {

class RecordStep final : public Step {
 public:
  RecordStep(const StepParts& parts, const Private<data::Dataset>& data);

  void start() override;
  void take(const Noting& noting) override;
  [[nodiscard]] barrier::PrivateRecords& records() override { return records_; }
  void save(run::Sections& sections) override;
  void load(const run::Sections& sections) override;
  [[nodiscard]] std::vector<run::Metric> metrics(std::int64_t step) const override;

 private:
  [[nodiscard]] bool is_on_gpu() const { return parts_.context.device.is_cuda(); }
  // [count], class by class, as many of each.
  [[nodiscard]] torch::Tensor balanced_labels(std::int64_t count) const;
  [[nodiscard]] torch::Tensor features_of(const torch::Tensor& images) const;
  // Generated records of another batch, class by class.
  barrier::Sample second_batch();
  [[nodiscard]] torch::Tensor potentials_of(const torch::Tensor& points);
  // Generated points and those of a second batch, class by class.
  [[nodiscard]] transport::Problem against(const torch::Tensor& points,
                                           const torch::Tensor& second) const;
  void note(const Noting& noting, const barrier::Rows& rows, const barrier::Sample& second,
            const barrier::Drawn<barrier::Sample>& drawn) const;
  // With the weight that a step has; on a GPU, the step that the device has come to.
  [[nodiscard]] torch::Tensor weighted_self(const torch::Tensor& self, std::int64_t step) const;

  StepParts parts_;
  double clip_norm_;
  double regularization_;
  RecordStepOptions options_;
  data::ImageShape shape_;
  std::int64_t classes_;
  Features features_;
  barrier::PrivateRecords records_;
  torch::Tensor class_sizes_;   // [classes], as released; public where there is one class
  torch::Tensor labels_;        // of a balanced batch
  torch::Tensor labels2_;       // of the second one
  torch::Tensor last_second_;   // features of the self term's rows, one step ago
  torch::Tensor self_weights_;  // on a GPU, [steps + 1]
  torch::Tensor gradient_norm_;
};

}  // namespace obol::method::dp_sinkhorn
