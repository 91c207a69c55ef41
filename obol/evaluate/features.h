// A space in which images that look alike are near each other: that of a small convolutional
// network that was trained to tell real images apart.
//
//   FeatureSpace space(real_half, {.seed = 1});
//   Features of = space(images);                 // [n, 128] and [n, classes]
//   frechet_distance(moments_of(of.features), moments_of(space(others).features))
//
// Distances in it are comparable only with others in the same space. A space trained on private
// images is itself private.
#pragma once

#include <memory>

#include <torch/torch.h>

#include "obol/evaluate/downstream.h"

namespace obol::evaluate {

struct Features {
  torch::Tensor features;       // [n, width], float
  torch::Tensor probabilities;  // [n, classes]
};

class FeatureNetwork;

class FeatureSpace {
 public:
  // options.classifier is not looked at. Sets torch's seed.
  FeatureSpace(const LabelledImages& real, const DownstreamOptions& options,
               const EpochReport& report = {});

  // `report` is told how many images each part had.
  [[nodiscard]] Features operator()(
      const torch::Tensor& images,
      const std::function<void(std::int64_t images)>& report = {}) const;

 private:
  std::shared_ptr<FeatureNetwork> network_;
};

struct Score {
  double value = 0;
  double deviation = 0;
};

// exp of the mean of KL(p(y|x) || p(y)), from the probabilities [n, classes] of a classifier
// (Salimans et al. 2016): mean and spread over so many parts, of one image at least.
Score inception_score(const torch::Tensor& probabilities, std::int64_t parts = 10);

// How far two clouds of features cover each other.
struct Overlap {
  double precision = 0;  // of synthetic ones, near some real one
  double recall = 0;     // of real ones, near some synthetic one (Kynkaanniemi et al. 2019)
  double density = 0;    // real neighbourhoods that a synthetic one is in, over those expected
  double coverage = 0;   // of real neighbourhoods with a synthetic one in (Naeem et al. 2020)
};

struct OverlapOptions {
  // A neighbourhood reaches to the so manieth nearest of its own kind: as in the two papers.
  std::int64_t precision_neighbours = 3;
  std::int64_t density_neighbours = 5;
};

// InvalidArgument where one side has no more points than neighbours are asked for.
Overlap overlap(const torch::Tensor& real, const torch::Tensor& synthetic,
                const OverlapOptions& options = {});

}  // namespace obol::evaluate
