#include "obol/model/dcgan.h"

#include <cstddef>

#include "obol/model/bfloat_stack.h"

namespace obol::model {
namespace {

using torch::Tensor;

std::vector<ConvTransposeOptions> layers_of(std::int64_t inputs, std::int64_t width,
                                            const data::ImageShape& shape) {
  const auto doubling = [](std::int64_t in, std::int64_t out, bool with_bias) {
    return ConvTransposeOptions{in, out, 4, 2, 1, with_bias};
  };
  const bool is_32 = shape.height == 32;
  // A bias in front of a normalisation would be taken off again.
  return {
      {.in = inputs, .out = 4 * width, .kernel = is_32 ? 4 : shape.height / 4, .with_bias = false},
      doubling(4 * width, 2 * width, false),
      doubling(2 * width, width, false),
      is_32 ? doubling(width, shape.channels, true)
            : ConvTransposeOptions{width, shape.channels, 3, 1, 1, true}};
}

}  // namespace

Dcgan::Dcgan(const GeneratorOptions& options, const data::ImageShape& shape,
             std::int64_t num_classes)
    : Generator(options, shape, num_classes) {
  std::int64_t inputs = latent();
  if (is_conditional()) {
    embedding_ =
        register_module("label_embedding", torch::nn::Embedding(num_classes, options.embedding));
    inputs += options.embedding;
  }
  for (const ConvTransposeOptions& layer : layers_of(inputs, options.width, shape)) {
    const std::size_t number = convolutions_.size() + 1;
    const ConvTranspose convolution(layer);
    convolutions_.push_back(convolution);
    register_module(fmt::format("conv{}", number), convolution);
    if (layer.with_bias) continue;
    const NormActivation norm(NormActivationOptions{.channels = layer.out, .slope = slope()});
    norms_.push_back(norm);
    register_module(fmt::format("norm{}", number), norm);
  }
}

Tensor Dcgan::inputs(const Tensor& z, const Tensor& labels) {
  return is_conditional() ? torch::cat({z, embedding_->forward(labels)}, 1) : z;
}

Tensor Dcgan::forward(const Tensor& z, const Tensor& labels) {
  Tensor x = computed(inputs(z, labels)).unsqueeze(-1).unsqueeze(-1);
  for (std::size_t k = 0; k < norms_.size(); ++k)
    x = norms_[k]->forward(convolutions_[k]->forward(x));
  return output(convolutions_.back()->forward(x));
}

Generator::Forward Dcgan::for_sampling() {
  const Tensor& some = convolutions_.front()->weight;
  if (!has_bfloat_products() || !some.is_cpu() || some.scalar_type() != at::kFloat)
    return Generator::for_sampling();
  std::vector<BfloatLayer> layers;
  for (std::size_t k = 0; k < convolutions_.size(); ++k) {
    const ConvTransposeImpl& convolution = *convolutions_[k];
    const std::int64_t stride = convolution.options.stride;
    const std::int64_t padding = convolution.options.padding;
    if (k == norms_.size()) {
      layers.push_back({convolution.weight, convolution.bias, stride, padding});
      break;
    }
    const auto [scale, shift] = norms_[k]->scale_and_shift();
    layers.push_back(
        {convolution.weight * scale.view({1, -1, 1, 1}), shift, stride, padding, slope()});
  }
  return [this, stack = BfloatStack(layers)](const Tensor& z, const Tensor& labels) {
    return output(stack.forward(inputs(z, labels)));
  };
}

std::string Dcgan::script() const {
  std::string text =
      is_conditional()
          ? "x = torch.cat([z, torch.embedding(self.label_embedding.weight, labels)], 1)\n"
          : "x = z\n";
  text += "x = x.unsqueeze(-1).unsqueeze(-1)\n";
  for (std::size_t k = 0; k < convolutions_.size(); ++k) {
    const auto& layer = convolutions_[k]->options;
    text += fmt::format("x = torch.conv_transpose2d(x, self.conv{0}.weight, {1}, {2}, {3})\n",
                        k + 1, layer.with_bias ? fmt::format("self.conv{}.bias", k + 1) : "None",
                        layer.stride, layer.padding);
    if (k == norms_.size()) break;
    text += fmt::format(
        "x = torch.batch_norm(x, self.norm{0}.weight, self.norm{0}.bias, "
        "self.norm{0}.running_mean, self.norm{0}.running_var, False, 0.0, {1}, False)\n"
        "x = torch.leaky_relu(x, {2:.17f})\n",
        k + 1, norms_[k]->options.epsilon, slope());
  }
  return text + fmt::format("return torch.{}(x)\n", options().output);
}

}  // namespace obol::model
