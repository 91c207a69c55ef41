#include "obol/model/resnet.h"

#include <cstddef>

#include "obol/model/channels_last.h"

namespace obol::model {
namespace {

using torch::Tensor;

constexpr std::int64_t kResNetSide = 4;
constexpr std::int64_t kCutSide = 7;
constexpr int kResNetBlocks = 3;
constexpr double kLeast = 1e-8;

Tensor pixel_normalised(const Tensor& x) {
  return x * at::rsqrt(x.square().mean(1, true) + kLeast);
}

std::string normalise_script() {
  return fmt::format("y = x * torch.rsqrt((x * x).mean([1], True) + {})\n", kLeast);
}

std::string weight_script(const std::string& name) {
  return fmt::format(
      "({0}.weight / torch.dot({0}.left, torch.mv({0}.weight.flatten(1), {0}.right)))", name);
}

std::string convolution_script(const std::string& of, const std::string& name, int padding) {
  return fmt::format("torch.conv2d({}, {}, {}.bias, 1, {})", of, weight_script(name), name,
                     padding);
}

}  // namespace

UpBlockImpl::UpBlockImpl(std::int64_t channels, double slope) : slope_(slope) {
  const SpectralOptions wide{.in = channels, .out = channels, .kernel = 3};
  const SpectralOptions narrow{.in = channels, .out = channels, .kernel = 1};
  conv1_ = register_module("conv1", Spectral(wide));
  conv2_ = register_module("conv2", Spectral(wide));
  shortcut_ = register_module("shortcut", Spectral(narrow));
}

Tensor UpBlockImpl::forward(const Tensor& x) {
  Tensor y = conv1_->forward(doubled(at::leaky_relu(pixel_normalised(x), slope_)));
  y = conv2_->forward(at::leaky_relu(pixel_normalised(y), slope_));
  // A convolution of one pixel and the doubling may change places: a quarter of the work.
  return y + doubled(shortcut_->forward(x));
}

// From x to x.
std::string UpBlockImpl::script(const std::string& name) const {
  const std::string rectify = fmt::format("y = torch.leaky_relu(y, {:.17f})\n", slope_);
  const auto twice = [](const char* variable) {
    return fmt::format("{0} = {0}.repeat_interleave(2, 2).repeat_interleave(2, 3)\n", variable);
  };
  return fmt::format("around = {}\n", convolution_script("x", name + ".shortcut", 0)) +
         twice("around") + normalise_script() + rectify + twice("y") +
         fmt::format("x = {}\n", convolution_script("y", name + ".conv1", 1)) + normalise_script() +
         rectify + fmt::format("x = {} + around\n", convolution_script("y", name + ".conv2", 1));
}

Resnet::Resnet(const GeneratorOptions& options, const data::ImageShape& shape,
               std::int64_t num_classes)
    : Generator(options, shape, num_classes) {
  std::int64_t inputs = latent();
  if (is_conditional()) {
    embedding_ =
        register_module("label_embedding", torch::nn::Embedding(num_classes, options.embedding));
    inputs += options.embedding;
  }
  first_ = register_module(
      "first", Spectral(SpectralOptions{.in = inputs, .out = depth() * kResNetSide * kResNetSide}));
  for (int k = 1; k <= kResNetBlocks; ++k) {
    const UpBlock block(depth(), slope());
    blocks_.push_back(block);
    register_module(fmt::format("block{}", k), block);
  }
  last_ = register_module(
      "last", Spectral(SpectralOptions{.in = depth(), .out = shape.channels, .kernel = 3}));
}

Tensor Resnet::forward(const Tensor& z, const Tensor& labels) {
  Tensor x = is_conditional() ? torch::cat({z, embedding_->forward(labels)}, 1) : z;
  x = channels_last(first_->forward(computed(x)).view({-1, depth(), kResNetSide, kResNetSide}));
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    x = blocks_[k]->forward(x);
    if (k == 0 && is_cut()) x = channels_last(x.narrow(2, 0, kCutSide).narrow(3, 0, kCutSide));
  }
  return output(last_->forward(at::leaky_relu(pixel_normalised(x), slope())));
}

std::string Resnet::script() const {
  std::string text =
      is_conditional()
          ? "x = torch.cat([z, torch.embedding(self.label_embedding.weight, labels)], 1)\n"
          : "x = z\n";
  text += fmt::format("x = torch.linear(x, {}, self.first.bias).view([-1, {}, {}, {}])\n",
                      weight_script("self.first"), depth(), kResNetSide, kResNetSide);
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    text += blocks_[k]->script(fmt::format("self.block{}", k + 1));
    if (k == 0 && is_cut())
      text += fmt::format("x = x.narrow(2, 0, {0}).narrow(3, 0, {0})\n", kCutSide);
  }
  return text + normalise_script() +
         fmt::format("y = torch.leaky_relu(y, {:.17f})\nreturn torch.{}({})\n", slope(),
                     options().output, convolution_script("y", "self.last", 1));
}

}  // namespace obol::model
