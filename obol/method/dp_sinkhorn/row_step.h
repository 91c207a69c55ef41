// The step with barrier row, batch or none: the gradient of the semi-debiased Sinkhorn loss with
// respect to the generated rows is clipped and released.
#pragma once

#include <cstdint>
#include <vector>

#include <torch/torch.h>

#include "obol/barrier/barrier.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/method/dp_sinkhorn/step.h"

namespace obol::method::dp_sinkhorn {

class RowStep final : public Step {
 public:
  RowStep(const StepParts& parts, const Private<data::Dataset>& data);

  void take(const Noting& noting) override;
  [[nodiscard]] barrier::PrivateRecords& records() override { return records_; }
  void save(run::Sections& /*sections*/) override {}
  void load(const run::Sections& sections) override;
  [[nodiscard]] std::vector<run::Metric> metrics(std::int64_t step) const override;

 private:
  struct Generated {
    torch::Tensor images;  // [count, channels, height, width]
    torch::Tensor labels;  // [count]
  };

  [[nodiscard]] bool is_on_gpu() const { return parts_.context.device.is_cuda(); }
  [[nodiscard]] bool is_by_parameters() const { return options_.perturb == "parameters"; }
  // The gradient of the loss of generated rows alone with respect to all of them.
  [[nodiscard]] torch::Tensor self_gradient(const torch::Tensor& rows,
                                            const torch::Tensor& labels) const;
  [[nodiscard]] transport::Problem problem_of(const torch::Tensor& x, const torch::Tensor& labels_x,
                                              const torch::Tensor& y,
                                              const torch::Tensor& labels_y) const;
  // Of generated rows alone: each on one side or on both.
  [[nodiscard]] transport::Problem self_problem(const torch::Tensor& rows,
                                                const torch::Tensor& labels) const;
  // The gradient of the loss against the private sample with respect to rows 0 to n - 1.
  [[nodiscard]] barrier::Drawn<torch::Tensor> private_gradient(const Generated& generated,
                                                               const torch::Tensor& self,
                                                               const Noting& noting);
  torch::Tensor release(const barrier::Drawn<torch::Tensor>& gradient, std::int64_t rows,
                        const Noting& noting);
  void backward_by_parameters(const Generated& generated, const torch::Tensor& self,
                              const barrier::Drawn<torch::Tensor>& gradient, const Noting& noting);

  StepParts parts_;
  double clip_norm_;
  double regularization_;
  RowStepOptions options_;
  std::int64_t classes_;
  barrier::PrivateRecords records_;
  torch::Tensor gradient_norm_;
};

}  // namespace obol::method::dp_sinkhorn
