#include "obol/model/biggan.h"

#include <cstddef>

#include "obol/model/channels_last.h"

namespace obol::model {
namespace {

using torch::Tensor;

constexpr std::int64_t kBigGanSide = 4;
constexpr int kBigGanBlocks = 4;

std::string spectral_weight(const std::string& name) {
  return fmt::format(
      "({0}.weight / torch.dot({0}.left, torch.mv({0}.weight.flatten(1), {0}.right)))", name);
}

std::string convolution(const std::string& name, int padding) {
  return fmt::format("torch.conv2d(y, {}, {}.bias, 1, {})", spectral_weight(name), name, padding);
}

std::string batch_norm(const std::string& name, bool is_affine) {
  return fmt::format(
      "torch.batch_norm(x, {1}, {2}, {0}.running_mean, {0}.running_var, False, 0.0, 1e-05, False)",
      name, is_affine ? name + ".weight" : "None", is_affine ? name + ".bias" : "None");
}

}  // namespace

ConditionalNormImpl::ConditionalNormImpl(std::int64_t channels, std::int64_t embedding) {
  norm_ = register_module(
      "norm",
      torch::nn::BatchNorm2d(torch::nn::BatchNorm2dOptions(channels).affine(embedding == 0)));
  if (embedding == 0) return;
  const SpectralOptions linear{.in = embedding, .out = channels, .kernel = 0, .with_bias = false};
  scale_ = register_module("scale", Spectral(linear));
  shift_ = register_module("shift", Spectral(linear));
}

Tensor ConditionalNormImpl::forward(const Tensor& x, const Tensor& embedded) {
  const Tensor y = norm_->forward(x);
  if (scale_.is_empty()) return y;
  const auto spread = [](const Tensor& values) { return values.unsqueeze(-1).unsqueeze(-1); };
  return y * (1 + spread(scale_->forward(embedded))) + spread(shift_->forward(embedded));
}

// From x to y.
std::string ConditionalNormImpl::script(const std::string& name) const {
  std::string text = fmt::format("y = {}\n", batch_norm(name + ".norm", scale_.is_empty()));
  if (scale_.is_empty()) return text;
  const auto spread = [&](const char* layer) {
    return fmt::format("torch.linear(embedded, {}).unsqueeze(-1).unsqueeze(-1)",
                       spectral_weight(name + layer));
  };
  return text + fmt::format("y = y * (1 + {}) + {}\n", spread(".scale"), spread(".shift"));
}

ResidualBlockImpl::ResidualBlockImpl(std::int64_t channels, std::int64_t embedding, Size size,
                                     double slope)
    : size_(size), slope_(slope) {
  const SpectralOptions wide{.in = channels, .out = channels, .kernel = 3};
  const SpectralOptions narrow{.in = channels, .out = channels, .kernel = 1};
  norm1_ = register_module("norm1", ConditionalNorm(channels, embedding));
  norm2_ = register_module("norm2", ConditionalNorm(channels, embedding));
  conv1_ = register_module("conv1", Spectral(wide));
  conv2_ = register_module("conv2", Spectral(wide));
  shortcut_ = register_module("shortcut", Spectral(narrow));
}

Tensor ResidualBlockImpl::forward(const Tensor& x, const Tensor& embedded) {
  const bool is_double = size_ == Size::kDouble;
  Tensor y = at::leaky_relu(norm1_->forward(x, embedded), slope_);
  y = conv1_->forward(is_double ? doubled(y) : y);
  y = conv2_->forward(at::leaky_relu(norm2_->forward(y, embedded), slope_));
  // A convolution of one pixel and the doubling may change places: a quarter of the work.
  const Tensor around = shortcut_->forward(x);
  return y + (is_double ? doubled(around) : around);
}

// From x to x.
std::string ResidualBlockImpl::script(const std::string& name) const {
  const std::string rectify = fmt::format("y = torch.leaky_relu(y, {:.17f})\n", slope_);
  const auto twice = [&](const char* variable) {
    if (size_ == Size::kSame) return std::string();
    return fmt::format("{0} = {0}.repeat_interleave(2, 2).repeat_interleave(2, 3)\n", variable);
  };
  return fmt::format("y = x\naround = {}\n", convolution(name + ".shortcut", 0)) + twice("around") +
         norm1_->script(name + ".norm1") + rectify + twice("y") +
         fmt::format("x = {}\n", convolution(name + ".conv1", 1)) +
         norm2_->script(name + ".norm2") + rectify +
         fmt::format("x = {} + around\n", convolution(name + ".conv2", 1));
}

BigGan::BigGan(const GeneratorOptions& options, const data::ImageShape& shape,
               std::int64_t num_classes)
    : Generator(options, shape, num_classes) {
  const std::int64_t embedding = is_conditional() ? options.embedding : 0;
  if (is_conditional())
    embedding_ = register_module("label_embedding", torch::nn::Embedding(num_classes, embedding));
  const std::int64_t start = depth() * kBigGanSide * kBigGanSide;
  first_ = register_module("first", Spectral(SpectralOptions{.in = latent(), .out = start}));
  for (int k = 1; k <= kBigGanBlocks; ++k) {
    const auto size =
        k < kBigGanBlocks ? ResidualBlockImpl::Size::kDouble : ResidualBlockImpl::Size::kSame;
    const ResidualBlock block(depth(), embedding, size, slope());
    blocks_.push_back(block);
    register_module(fmt::format("block{}", k), block);
  }
  norm_ = register_module("norm", torch::nn::BatchNorm2d(depth()));
  last_ = register_module(
      "last", Spectral(SpectralOptions{.in = depth(), .out = shape.channels, .kernel = 3}));
}

Tensor BigGan::forward(const Tensor& z, const Tensor& labels) {
  const Tensor embedded = is_conditional() ? computed(embedding_->forward(labels)) : Tensor();
  Tensor x = first_->forward(computed(z)).view({-1, depth(), kBigGanSide, kBigGanSide});
  if (x.is_cuda()) x = channels_last(x);
  for (ResidualBlock& block : blocks_) x = block->forward(x, embedded);
  return output(last_->forward(at::leaky_relu(norm_->forward(x), slope())));
}

std::string BigGan::script() const {
  std::string text =
      is_conditional() ? "embedded = torch.embedding(self.label_embedding.weight, labels)\n" : "";
  text += fmt::format("x = torch.linear(z, {}, self.first.bias).view([-1, {}, {}, {}])\n",
                      spectral_weight("self.first"), depth(), kBigGanSide, kBigGanSide);
  for (std::size_t k = 0; k < blocks_.size(); ++k)
    text += blocks_[k]->script(fmt::format("self.block{}", k + 1));
  return text + fmt::format("y = torch.leaky_relu({}, {:.17f})\nreturn torch.{}({})\n",
                            batch_norm("self.norm", true), slope(), options().output,
                            convolution("self.last", 1));
}

}  // namespace obol::model
