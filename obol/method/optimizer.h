// Optimisers as recipes describe them.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "obol/method/optimizer_options.h"

namespace obol::method {

std::unique_ptr<torch::optim::Optimizer> make_optimizer(
    const OptimizerOptions& options, const std::vector<torch::Tensor>& parameters);

void set_learning_rate(torch::optim::Optimizer& optimizer, double rate);

// By which torch's optimiser knows a parameter: a pointer or, in older ones, its digits.
template <class States>
auto key_of(const States& /*states*/, const torch::Tensor& parameter) {
  using Key = typename States::key_type;
  if constexpr (std::is_same_v<Key, std::string>)
    return fmt::format("{}", fmt::ptr(parameter.unsafeGetTensorImpl()));
  else
    return static_cast<Key>(parameter.unsafeGetTensorImpl());
}

}  // namespace obol::method
