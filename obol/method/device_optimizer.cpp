#include "obol/method/device_optimizer.h"

#include <cmath>
#include <memory>
#include <utility>

#include "obol/method/gpu.h"
#include "obol/method/optimizer.h"
#include "obol/model/average.h"

namespace obol::method {
namespace {

using torch::Tensor;

// In the order of `like`.
Tensor laid_out_as(const Tensor& like, const Tensor& tensor) {
  if (tensor.strides() == like.strides()) return tensor;
  return torch::empty_like(like).copy_(tensor);
}

}  // namespace

DeviceOptimizer::DeviceOptimizer(const OptimizerOptions& options, double decay,
                                 std::vector<Tensor> parameters, std::vector<Tensor> average)
    : options_(options),
      decay_(decay),
      parameters_(std::move(parameters)),
      average_(std::move(average)) {
  const torch::NoGradGuard no_grad;
  for (const Tensor& parameter : parameters_) {
    first_.push_back(torch::zeros_like(parameter));
    second_.push_back(torch::zeros_like(parameter));
  }
  step_ = torch::zeros({1}, parameters_.front().options().dtype(torch::kLong).requires_grad(false));
}

void DeviceOptimizer::fill_table(std::int64_t steps) {
  Tensor table = torch::zeros({steps + 1, 3});
  auto* numbers = table.data_ptr<float>();
  for (std::int64_t step = 1; step <= steps; ++step) {
    const auto t = static_cast<double>(step);
    const bool is_adam = options_.kind != "sgd";
    const double first = is_adam ? 1 - std::pow(options_.beta1, t) : 1;
    const double second = is_adam ? 1 - std::pow(options_.beta2, t) : 1;
    numbers[3 * step] = static_cast<float>(learning_rate_at(options_, step, steps) / first);
    numbers[3 * step + 1] = static_cast<float>(1 / std::sqrt(second));
    numbers[3 * step + 2] = static_cast<float>(model::share_of_step(decay_, step - 1));
  }
  table_ = table.to(step_.device());
}

void DeviceOptimizer::begin(std::int64_t step, std::int64_t steps) {
  if (!table_.defined() || table_.size(0) != steps + 1) fill_table(steps);
  if (step != next_) step_.fill_(step);
  next_ = step + 1;
}

void DeviceOptimizer::update() {
  const torch::NoGradGuard no_grad;
  std::vector<gpu::Updated> tensors;
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const Tensor& parameter = parameters_[k];
    if (!parameter.grad().defined()) continue;
    tensors.push_back({parameter, laid_out_as(parameter, parameter.grad()), first_[k], second_[k],
                       average_.empty() ? Tensor() : average_[k]});
  }
  gpu::update(tensors, options_, table_, step_);
  step_.add_(1);
  for (const Tensor& parameter : parameters_) parameter.mutable_grad() = Tensor();
}

void DeviceOptimizer::restart() {
  for (const Tensor& tensor : first_) tensor.zero_();
  for (const Tensor& tensor : second_) tensor.zero_();
  next_ = 0;
}

void DeviceOptimizer::save_to(torch::optim::Optimizer& optimizer) const {
  for (std::size_t k = 0; next_ > 1 && k < parameters_.size(); ++k) {
    auto& state = optimizer.state()[key_of(optimizer.state(), parameters_[k])];
    if (options_.kind == "sgd") {
      auto own = std::make_unique<torch::optim::SGDParamState>();
      own->momentum_buffer(first_[k].clone());
      state = std::move(own);
    } else {
      auto own = std::make_unique<torch::optim::AdamParamState>();
      own->step(next_ - 1);
      own->exp_avg(first_[k].clone());
      own->exp_avg_sq(second_[k].clone());
      state = std::move(own);
    }
  }
}

void DeviceOptimizer::load_from(torch::optim::Optimizer& optimizer) {
  const torch::NoGradGuard no_grad;
  restart();
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    const auto found = optimizer.state().find(key_of(optimizer.state(), parameters_[k]));
    if (found == optimizer.state().end()) continue;
    if (options_.kind == "sgd") {
      const auto& own = static_cast<const torch::optim::SGDParamState&>(*found->second);
      if (own.momentum_buffer().defined()) first_[k].copy_(own.momentum_buffer());
    } else {
      const auto& own = static_cast<const torch::optim::AdamParamState&>(*found->second);
      first_[k].copy_(own.exp_avg());
      second_[k].copy_(own.exp_avg_sq());
    }
  }
}

}  // namespace obol::method
