// The residual generator in the manner of BigGAN (Brock et al. 2019): spectral normalisation, and
// batch normalisation whose scale and shift come from the label through one shared embedding.
#pragma once

#include <string>
#include <vector>

#include "obol/model/generator.h"
#include "obol/model/spectral.h"

namespace obol::model {

// Without a label the scale and shift are plain parameters.
class ConditionalNormImpl : public torch::nn::Module {
 public:
  // `embedding` 0: unconditional.
  ConditionalNormImpl(std::int64_t channels, std::int64_t embedding);
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& embedded);
  [[nodiscard]] std::string script(const std::string& name) const;

 private:
  torch::nn::BatchNorm2d norm_ = nullptr;
  Spectral scale_ = nullptr;
  Spectral shift_ = nullptr;
};
TORCH_MODULE(ConditionalNorm);

// Two convolutions beside a third of one pixel, at the size of x or at twice that.
class ResidualBlockImpl : public torch::nn::Module {
 public:
  enum class Size { kSame, kDouble };

  ResidualBlockImpl(std::int64_t channels, std::int64_t embedding, Size size, double slope);
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& embedded);
  [[nodiscard]] std::string script(const std::string& name) const;

 private:
  Size size_;
  double slope_;
  ConditionalNorm norm1_ = nullptr;
  ConditionalNorm norm2_ = nullptr;
  Spectral conv1_ = nullptr;
  Spectral conv2_ = nullptr;
  Spectral shortcut_ = nullptr;
};
TORCH_MODULE(ResidualBlock);

// Makes 32x32 of any channels: 4x4, three blocks that double it, one that keeps the size.
class BigGan final : public Generator {
 public:
  BigGan(const GeneratorOptions& options, const data::ImageShape& shape, std::int64_t num_classes);
  torch::Tensor forward(const torch::Tensor& z, const torch::Tensor& labels) override;
  [[nodiscard]] std::string script() const override;

 private:
  [[nodiscard]] std::int64_t depth() const { return 4 * options().width; }

  torch::nn::Embedding embedding_ = nullptr;
  Spectral first_ = nullptr;
  std::vector<ResidualBlock> blocks_;
  torch::nn::BatchNorm2d norm_ = nullptr;
  Spectral last_ = nullptr;
};

}  // namespace obol::model
