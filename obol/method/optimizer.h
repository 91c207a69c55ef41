// Optimisers as recipes describe them.
#pragma once

#include <memory>
#include <vector>

#include <torch/torch.h>

#include "obol/method/optimizer_options.h"

namespace obol::method {

std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const OptimizerOptions& options, const std::vector<torch::Tensor>& parameters);

void set_learning_rate(torch::optim::Optimizer& optimizer, double rate);

}  // namespace obol::method
