#include "obol/model/average.h"

#include <algorithm>

#include "obol/base/error.h"
#include "obol/model/norm_activation.h"

namespace obol::model {
namespace {

using torch::Tensor;

constexpr std::int64_t kBatch = 500;

std::vector<Tensor> copies_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies;
  copies.reserve(tensors.size());
  for (const Tensor& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

void copy(const std::vector<Tensor>& from, const std::vector<Tensor>& to) {
  if (from.size() != to.size())
    throw InvalidArgument(violation("the number of tensors of a network",
                                    fmt::format("{} as averaged", from.size()), to.size()));
  for (std::size_t k = 0; k < from.size(); ++k) to[k].copy_(from[k]);
}

// The share of a batch in the running statistics of every normalisation.
void set_momentum(Generator& generator, double momentum) {
  for (const auto& module : generator.modules()) {
    if (auto* norm = module->as<NormActivationImpl>()) norm->options.momentum = momentum;
    if (auto* norm = module->as<torch::nn::BatchNorm2dImpl>()) norm->options.momentum(momentum);
  }
}

}  // namespace

double share_of_step(double decay, std::int64_t t) {
  const auto taken = static_cast<double>(t);
  return 1 - std::min(decay, (taken + 1) / (taken + 10));
}

void copy_state(const torch::nn::Module& from, torch::nn::Module& to) {
  const torch::NoGradGuard no_grad;
  copy(from.parameters(), to.parameters());
  copy(from.buffers(), to.buffers());
}

WeightAverage::WeightAverage(const torch::nn::Module& module, double decay)
    : decay_(decay), parameters_(copies_of(module.parameters())) {
  if (!(decay >= 0 && decay < 1))
    throw InvalidArgument(violation("the decay of an average", "at least 0 and below 1", decay));
}

void WeightAverage::update(const torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  const double share = share_of_step(decay_, steps_++);
  const std::vector<Tensor> current = module.parameters();
  if (current.size() != parameters_.size())
    throw InvalidArgument(violation("the number of tensors of a network",
                                    fmt::format("{} as averaged", parameters_.size()),
                                    current.size()));
  for (std::size_t k = 0; k < current.size(); ++k) parameters_[k].lerp_(current[k], share);
}

void WeightAverage::copy_to(torch::nn::Module& module) const {
  const torch::NoGradGuard no_grad;
  copy(parameters_, module.parameters());
}

void recompute_statistics(Generator& generator, std::int64_t images, RandomBits& bits) {
  const torch::NoGradGuard no_grad;
  const bool was_training = generator.is_training();
  const torch::Device device = generator.parameters().front().device();
  const Tensor labels =
      at::arange(kBatch, at::kLong).remainder(std::max<std::int64_t>(generator.num_classes(), 1));
  generator.train();
  for (std::int64_t done = 0, batch = 1; done < images; done += kBatch, ++batch) {
    set_momentum(generator, 1.0 / static_cast<double>(batch));
    generator.forward(generator.latents(kBatch, bits).to(device), labels.to(device));
  }
  set_momentum(generator, NormActivationOptions{}.momentum);
  generator.train(was_training);
}

}  // namespace obol::model
