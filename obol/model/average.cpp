#include "obol/model/average.h"

#include <algorithm>
#include <functional>

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

WeightAverage::WeightAverage(const torch::nn::Module& module, double decay)
    : decay_(decay),
      parameters_(copies_of(module.parameters())),
      buffers_(copies_of(module.buffers())) {
  if (!(decay >= 0 && decay < 1))
    throw InvalidArgument(violation("the decay of an average", "at least 0 and below 1", decay));
}

void WeightAverage::update(const torch::nn::Module& module) {
  const torch::NoGradGuard no_grad;
  const auto t = static_cast<double>(steps_++);
  const double keep = std::min(decay_, (t + 1) / (t + 10));
  const std::vector<Tensor> current = module.parameters();
  if (current.size() != parameters_.size())
    throw InvalidArgument(violation("the number of tensors of a network",
                                    fmt::format("{} as averaged", parameters_.size()),
                                    current.size()));
  for (std::size_t k = 0; k < current.size(); ++k) parameters_[k].lerp_(current[k], 1 - keep);
  copy(module.buffers(), buffers_);
}

void WeightAverage::copy_to(torch::nn::Module& module) const {
  const torch::NoGradGuard no_grad;
  copy(parameters_, module.parameters());
  copy(buffers_, module.buffers());
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
