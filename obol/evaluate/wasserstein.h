// How far synthetic images have to be moved, pixel by pixel, to become real ones of their class.
//
//   Wasserstein distances = wasserstein(synthetic, test, 10);
//   distances.exact.value                         // the mean of the classes
//
// Distances between finite samples are never zero: compare them with those between two samples of
// real images, of as many.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "obol/evaluate/downstream.h"

namespace obol::evaluate {

struct ClassDistances {
  double value = 0;               // the mean of those that are not NaN
  std::vector<double> per_class;  // NaN where one side has none of that class
};

struct Wasserstein {
  ClassDistances exact;     // 2-Wasserstein: the root of the least mean squared distance
  ClassDistances entropic;  // the root of the Sinkhorn divergence (Feydy et al. 2019)
};

struct WassersteinOptions {
  std::int64_t per_class = 500;  // images of each side, at random; all where there are fewer
  double regularization = 0.05;  // of the entropic one, over the mean squared distance
  std::uint64_t seed = 0;
};

// `report` is called after each class. InvalidArgument where the sides have no class in common.
Wasserstein wasserstein(const LabelledImages& synthetic, const LabelledImages& real,
                        std::int64_t num_classes, const WassersteinOptions& options = {},
                        const std::function<void()>& report = {});

}  // namespace obol::evaluate
