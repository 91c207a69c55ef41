// Junk: generated images that look like nothing of their class.
//
//   const auto found = junk({junk_spaces(features, images), labels}, {..., made_labels}, 10);
//   if (found) found->rate, found->per_class
//
// An image is junk where it lies further from the real images of its class than 99.9% of real
// images do. How far an image lies is its distance to the nearest real image of its class; for a
// real image, to the nearest other one. Distances are taken in several spaces at once, each in
// units of its own 99.9% quantile over the real images, and the largest counts: what is wrong with
// an image may show in one space alone.
//
// Of real images that were held out, a share of (n / 1000 + 1) / (n + 1) is expected to be junk,
// where there are n to compare with: 0.1%, but with fewer than 1,000 the limit is the largest
// distance, and the share 1 / (n + 1).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <torch/torch.h>

namespace obol::evaluate {

// With fewer real images to compare with, more than 2% of other real ones
// would be called junk.
inline constexpr std::int64_t kFewestForJunk = 50;

// The same images as points of several spaces: [n, width] of floats each.
struct ClassedPoints {
  std::vector<torch::Tensor> spaces;
  torch::Tensor labels;  // [n] of int64
};

// The spaces in which junk shows: the directions of the features [n, width] (Sun et al. 2022),
// where images of another class are far, and the pixels, where noise and blots are.
std::vector<torch::Tensor> junk_spaces(const torch::Tensor& features, const torch::Tensor& images);

struct Junk {
  double rate = 0;
  std::vector<double> per_class;  // NaN where one side has none
  double expected_of_real = 0;    // share of other real images that would be called junk
};

// Classes with less than two real images are left out. Nothing where fewer than kFewestForJunk real
// images are left, or none of the generated ones.
std::optional<Junk> junk(const ClassedPoints& real, const ClassedPoints& made,
                         std::int64_t num_classes);

}  // namespace obol::evaluate
