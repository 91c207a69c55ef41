#include "bench/eager_generator.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>

namespace obol::bench {
namespace {

using torch::Tensor;

constexpr std::size_t kLayers = 4;
constexpr std::array<std::int64_t, kLayers> kStrides{1, 2, 2, 1};
constexpr std::array<std::int64_t, kLayers> kPaddings{0, 1, 1, 1};

}  // namespace

EagerGenerator::EagerGenerator(const model::Generator& like)
    : slope_(like.options().activation == "relu" ? 0 : 0.2),
      is_tanh_(like.options().output == "tanh") {
  torch::OrderedDict<std::string, Tensor> leaves;
  for (const auto& item : like.named_parameters()) {
    leaves.insert(item.key(), item.value().detach().clone().contiguous().requires_grad_());
    parameters_.push_back(leaves[item.key()]);
  }
  const auto buffers = like.named_buffers();
  if (like.is_conditional()) embedding_ = leaves["label_embedding.weight"];
  for (std::size_t k = 1; k <= kLayers; ++k) {
    filters_.push_back(leaves[fmt::format("conv{}.weight", k)]);
    if (k == kLayers) break;
    const std::string norm = fmt::format("norm{}.", k);
    norms_.push_back({leaves[norm + "weight"], leaves[norm + "bias"],
                      buffers[norm + "running_mean"].clone(),
                      buffers[norm + "running_var"].clone()});
  }
  last_bias_ = leaves[fmt::format("conv{}.bias", kLayers)];
}

Tensor EagerGenerator::forward(const Tensor& z, const Tensor& labels, Statistics statistics) const {
  Tensor x = embedding_.defined() ? torch::cat({z, torch::embedding(embedding_, labels)}, 1) : z;
  x = x.unsqueeze(-1).unsqueeze(-1);
  for (std::size_t k = 0; k < kLayers; ++k) {
    const bool is_last = k + 1 == kLayers;
    x = at::conv_transpose2d(x, filters_[k], is_last ? last_bias_ : Tensor(), kStrides[k],
                             kPaddings[k]);
    if (is_last) break;
    const Norm& norm = norms_[k];
    x = at::batch_norm(x, norm.weight, norm.bias, norm.mean, norm.variance,
                       statistics == Statistics::kOfBatch, 0.1, 1e-5, false);
    x = slope_ == 0 ? at::relu(x) : at::leaky_relu(x, slope_);
  }
  return is_tanh_ ? x.tanh() : x.sigmoid();
}

Tensor EagerGenerator::train(const Tensor& z, const Tensor& labels) const {
  return forward(z, labels, Statistics::kOfBatch);
}

Tensor EagerGenerator::evaluate(const Tensor& z, const Tensor& labels) const {
  return forward(z, labels, Statistics::kKept);
}

double flops_of_image(const model::Generator& dcgan) {
  const auto parameters = dcgan.named_parameters();
  const std::int64_t side = dcgan.shape().height;
  const std::array<std::int64_t, kLayers> inputs{1, side / 4, side / 2, side};
  double sum = 0;
  for (std::size_t k = 0; k < kLayers; ++k) {
    const std::int64_t weights = parameters[fmt::format("conv{}.weight", k + 1)].numel();
    sum += 2 * static_cast<double>(inputs[k] * inputs[k]) * static_cast<double>(weights);
  }
  return sum;
}

}  // namespace obol::bench
