// The residual generator of GS-WGAN (Chen, Orekondy and Fritz 2020): spectral normalisation, each
// pixel's channels scaled to unit mean square, the label beside the latent vector.
#pragma once

#include <string>
#include <vector>

#include "obol/model/generator.h"
#include "obol/model/spectral.h"

namespace obol::model {

// Doubles the size: two convolutions beside a third of one pixel.
class UpBlockImpl : public torch::nn::Module {
 public:
  UpBlockImpl(std::int64_t channels, double slope);
  torch::Tensor forward(const torch::Tensor& x);
  [[nodiscard]] std::string script(const std::string& name) const;

 private:
  double slope_;
  Spectral conv1_ = nullptr;
  Spectral conv2_ = nullptr;
  Spectral shortcut_ = nullptr;
};
TORCH_MODULE(UpBlock);

// Makes 32x32 from 4x4, and 28x28 by leaving out a row and a column at 8x8.
class Resnet final : public Generator {
 public:
  Resnet(const GeneratorOptions& options, const data::ImageShape& shape, std::int64_t num_classes);
  torch::Tensor forward(const torch::Tensor& z, const torch::Tensor& labels) override;
  [[nodiscard]] std::string script() const override;

 private:
  [[nodiscard]] std::int64_t depth() const { return 4 * options().width; }
  [[nodiscard]] bool is_cut() const { return shape().height == 28; }

  torch::nn::Embedding embedding_ = nullptr;
  Spectral first_ = nullptr;
  std::vector<UpBlock> blocks_;
  Spectral last_ = nullptr;
};

}  // namespace obol::model
