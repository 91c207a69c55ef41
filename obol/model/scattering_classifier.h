// A linear classifier of images by their scattering of order 2: softmax regression on
// group-normalised features, with a constant as the last of them. As a file it is numbers and
// shapes, like a generator (generator_file.h).
//
//   ScatteringClassifier classifier({1, 28, 28}, weights, 30);     // [10, 3970], double
//   classifier.labels(bytes)                                       // of [n, 1, 28, 28], bytes
//   write_file("teacher.safetensors", classifier.bytes());
//   auto again = load_scattering_classifier("teacher.safetensors");
#pragma once

#include <cstdint>
#include <string>

#include <torch/torch.h>

#include "obol/base/file.h"
#include "obol/data/dataset.h"
#include "obol/features/scattering.h"

namespace obol::model {

class ScatteringClassifier {
 public:
  static constexpr int kOrder = 2;  // the order of its scattering

  // With weights of zero, doubles [classes, dimension], on `device`.
  ScatteringClassifier(const data::ImageShape& shape, std::int64_t num_classes, double gain,
                       const torch::Device& device = torch::kCPU);

  [[nodiscard]] const data::ImageShape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::int64_t num_classes() const { return weights_.size(0); }
  [[nodiscard]] double gain() const noexcept { return gain_; }
  // To be changed in place.
  [[nodiscard]] const torch::Tensor& weights() const noexcept { return weights_; }

  // Of scattering [n, channels, h, w]: [n, dimension], and gain times their products with the
  // weights, [n, classes]. Differentiable, and where the scattering is.
  [[nodiscard]] torch::Tensor features(const torch::Tensor& scattered) const;
  [[nodiscard]] torch::Tensor logits(const torch::Tensor& scattered) const;
  // Features of images [n, pixels] for a barrier that asks for rows which depend on their own
  // record to the last bit. The result is where the images are.
  [[nodiscard]] torch::Tensor features_of_records(const torch::Tensor& images) const;

  // The class of the largest logit, [n], int64, on the CPU. `bytes` are images as they are
  // kept, [n, channels, height, width]; they are divided by 255, and looked at where they are.
  [[nodiscard]] torch::Tensor labels(const torch::Tensor& bytes) const;

  // As a file.
  [[nodiscard]] std::string bytes() const;

 private:
  [[nodiscard]] std::int64_t groups() const;  // into which normalisation divides the channels

  data::ImageShape shape_;
  double gain_;
  features::Scattering scattering_;
  torch::Tensor weights_;
};

// A file may come from anywhere: DataError if it is not such a file, or if a name, shape or type is
// not what its texts say, or a number is not finite.
ScatteringClassifier load_scattering_classifier(const Path& path,
                                                const torch::Device& device = torch::kCPU);

}  // namespace obol::model
