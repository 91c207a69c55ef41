// Public linear maps of images, in whose space records are measured, released or privatised.
//
//   Features features = parse_features("dct:14", {.channels = 1, .height = 28, .width = 28});
//   torch::Tensor low = features(images);      // [n, 784] to [n, 196]
//
// A map of norm at most 1 that drops what carries little leaves less for the noise to cover.
#pragma once

#include <string_view>

#include <torch/torch.h>

#include "obol/data/dataset.h"

namespace obol::method {

class Features {
 public:
  // Images as they are.
  Features() = default;
  // Each channel is a matrix I that becomes vertical I horizontal^T.
  enum class Rows { kAny, kOrthonormal };  // of both matrices
  Features(const data::ImageShape& shape, torch::Tensor vertical, torch::Tensor horizontal,
           Rows rows);

  [[nodiscard]] bool are_pixels() const { return !vertical_.defined(); }
  // [n, channels * height * width]; differentiable.
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& images) const;
  // The same of private records, [n, ...] to floats: numbers are rounded to grids on the way, on
  // which products are exact, so that the features of one record do not depend, in any bit, on
  // which others are computed with it.
  [[nodiscard]] torch::Tensor of_records(const torch::Tensor& images) const;
  // The part of images that the features cannot see, in pixels; undefined where they see all.
  [[nodiscard]] torch::Tensor dropped(const torch::Tensor& images) const;
  [[nodiscard]] Features to(const torch::Device& device) const;
  // Back to images, of what has orthonormal rows and drops nothing.
  [[nodiscard]] Features inverse() const;

 private:
  data::ImageShape shape_;
  torch::Tensor vertical_;    // [rows out, height]
  torch::Tensor horizontal_;  // [columns out, width]
  Rows rows_ = Rows::kAny;
};

// pixels, blur:S or dct:K; InvalidArgument otherwise.
Features parse_features(std::string_view text, const data::ImageShape& shape);

// The orthonormal discrete cosine transform of every channel, all of it.
Features cosine_transform(const data::ImageShape& shape, const torch::Device& device);

}  // namespace obol::method
