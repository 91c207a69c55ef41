#include "obol/method/optimizer.h"

namespace obol::method {

using torch::Tensor;

std::unique_ptr<torch::optim::Optimizer> make_optimizer(const OptimizerOptions& options,
                                                        const std::vector<Tensor>& parameters) {
  if (options.kind == "sgd")
    return std::make_unique<torch::optim::SGD>(parameters,
                                               torch::optim::SGDOptions(options.learning_rate)
                                                   .momentum(options.momentum)
                                                   .weight_decay(options.weight_decay));
  return std::make_unique<torch::optim::Adam>(parameters,
                                              torch::optim::AdamOptions(options.learning_rate)
                                                  .betas({options.beta1, options.beta2})
                                                  .weight_decay(options.weight_decay));
}

void set_learning_rate(torch::optim::Optimizer& optimizer, double rate) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(rate);
}

}  // namespace obol::method
