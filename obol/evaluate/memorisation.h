// Are synthetic images nearer to the images that were trained on than to others of the same kind?
//
//   Memorisation found = memorisation(synthetic, training, held_out);
//   found.ratio        // about 1: no; far below: they were remembered
//
// Guarantee: none. The result depends on the private images beyond any barrier and stays with them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <torch/torch.h>

namespace obol::evaluate {

struct ClosePair {
  std::int64_t synthetic;
  std::int64_t training;  // its nearest one
  double distance;
};

struct Memorisation {
  double ratio = 0;  // mean distance to the nearest training image over that to a held-out one
  double low = 0;    // 95% confidence interval, of other images from the same sources
  double high = 0;
  std::int64_t samples = 0;        // synthetic ones
  std::int64_t references = 0;     // of each side
  std::vector<ClosePair> closest;  // nearest first
};

struct MemorisationOptions {
  std::int64_t samples = 1000;
  std::int64_t references = 60'000;  // of each side, or as many as the smaller one has
  std::int64_t closest = 16;
  std::uint64_t seed = 0;
};

// Images [n, ...]; subsets are drawn at random. `report` is told the share of the work that is
// done. InvalidArgument where a side has fewer than 20 images.
Memorisation memorisation(const torch::Tensor& synthetic, const torch::Tensor& training,
                          const torch::Tensor& held_out, const MemorisationOptions& options = {},
                          const std::function<void()>& report = {});

}  // namespace obol::evaluate
