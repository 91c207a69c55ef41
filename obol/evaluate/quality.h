// The images themselves, compared with real ones: in the features of a small classifier, and by
// transport from pixel to pixel.
//
//   std::vector<Quality> found = quality(synthetic, test, {.training = options, .against =
//   "test"});
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "obol/evaluate/downstream.h"
#include "obol/evaluate/evaluation.h"

namespace obol::evaluate {

// Images of each side that a comparison takes at least: half of the real ones make the feature
// space.
inline constexpr std::int64_t kFewestImages = 40;

enum class Labels { kGiven, kMissing };

struct QualityOptions {
  DownstreamOptions training;      // of the feature space; with num_classes
  Labels labels = Labels::kGiven;  // of the synthetic images; all are of class 0 without
  std::string against;             // what the real images are, in words
};

// options.training.seed decides the halves of the real images, the feature space and what is drawn.
std::vector<Quality> quality(const LabelledImages& synthetic, const LabelledImages& real,
                             const QualityOptions& options);

// The mean of each figure over repetitions, of which there is one at least, and its deviation; of
// one repetition, that itself.
std::vector<Quality> average(const std::vector<std::vector<Quality>>& repetitions);

}  // namespace obol::evaluate
