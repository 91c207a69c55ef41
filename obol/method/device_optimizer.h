// The optimiser of weights that lie on a GPU, with their moving average: one launch a step, which
// can be part of a recorded step. What torch's optimiser of the same options does.
//
//   DeviceOptimizer optimizer(options, 0.999, parameters, average);
//   optimizer.begin(step, steps);          // outside of what is recorded
//   ... gradients ...
//   optimizer.update();                    // inside
#pragma once

#include <cstdint>
#include <vector>

#include <torch/torch.h>

#include "obol/method/optimizer_options.h"

namespace obol::method {

class DeviceOptimizer {
 public:
  // `average` has a tensor for each parameter, or none.
  DeviceOptimizer(const OptimizerOptions& options, double decay,
                  std::vector<torch::Tensor> parameters, std::vector<torch::Tensor> average);

  // The next update is that of this step, from 1.
  void begin(std::int64_t step, std::int64_t steps);
  // By the gradients of the parameters, which are undefined afterwards.
  void update();
  // [1] of int64, on the device: the step of the next update.
  [[nodiscard]] const torch::Tensor& step() const noexcept { return step_; }

  // As if no step had been taken.
  void restart();
  // To and from torch's optimiser of the same parameters, for checkpoints.
  void save_to(torch::optim::Optimizer& optimizer) const;
  void load_from(torch::optim::Optimizer& optimizer);

 private:
  void fill_table(std::int64_t steps);

  OptimizerOptions options_;
  double decay_;
  std::vector<torch::Tensor> parameters_;
  std::vector<torch::Tensor> average_;
  std::vector<torch::Tensor> first_;
  std::vector<torch::Tensor> second_;
  torch::Tensor table_;  // [steps + 1, 3], of steps from 0
  torch::Tensor step_;
  std::int64_t next_ = 0;
};

}  // namespace obol::method
