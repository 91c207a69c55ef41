// The generator of transposed convolutions (Radford et al. 2016), conditional on a label through an
// embedding beside the latent vector.
#pragma once

#include <string>
#include <vector>

#include "obol/model/conv_transpose.h"
#include "obol/model/generator.h"
#include "obol/model/norm_activation.h"

namespace obol::model {

// Makes 32x32, from 4x4 by three layers that double it, and every other square whose side is a
// multiple of 4 up to 64, from a quarter of it by two such layers and one that keeps the size.
class Dcgan final : public Generator {
 public:
  Dcgan(const GeneratorOptions& options, const data::ImageShape& shape, std::int64_t num_classes);
  torch::Tensor forward(const torch::Tensor& z, const torch::Tensor& labels) override;
  [[nodiscard]] std::string script() const override;
  [[nodiscard]] Forward for_sampling() override;

 private:
  [[nodiscard]] torch::Tensor inputs(const torch::Tensor& z, const torch::Tensor& labels);

  torch::nn::Embedding embedding_ = nullptr;
  std::vector<ConvTranspose> convolutions_;
  std::vector<NormActivation> norms_;  // behind all but the last
};

}  // namespace obol::model
