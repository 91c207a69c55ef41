#include "obol/evaluate/quality.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "obol/base/console.h"
#include "obol/base/interrupt.h"
#include "obol/evaluate/epochs.h"
#include "obol/evaluate/features.h"
#include "obol/evaluate/frechet.h"
#include "obol/evaluate/junk.h"
#include "obol/evaluate/spread.h"
#include "obol/evaluate/wasserstein.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

struct Halves {
  LabelledImages first;
  LabelledImages second;
};

Halves halves_of(const LabelledImages& data, std::uint64_t seed) {
  const LabelledImages shuffled = some_of(data, data.labels.size(0), seed);
  const std::int64_t half = shuffled.labels.size(0) / 2;
  return {{shuffled.images.slice(0, 0, half), shuffled.labels.slice(0, 0, half)},
          {shuffled.images.slice(0, half), shuffled.labels.slice(0, half)}};
}

// As what a classifier takes unlabelled images: how many classes there would be if all that occur
// were as frequent (the exponential of the entropy), and the share of each.
Quality classes_seen(const Tensor& probabilities) {
  const std::int64_t classes = probabilities.size(1);
  const Tensor counts = torch::bincount(probabilities.argmax(1).cpu(), {}, classes);
  const Tensor shares = counts.to(torch::kDouble) / counts.sum();
  const double entropy = -torch::xlogy(shares, shares).sum().item<double>();
  Quality found{.name = "classes_seen", .value = std::exp(entropy)};
  found.per_class.assign(shares.data_ptr<double>(), shares.data_ptr<double>() + classes);
  return found;
}

// The images as points among which junk is looked for; of one class where labels are missing.
ClassedPoints points_of(const Tensor& features, const LabelledImages& images, Labels labels) {
  return {junk_spaces(features, images.images),
          labels == Labels::kGiven ? images.labels : torch::zeros_like(images.labels)};
}

void add_junk(const ClassedPoints& real, const ClassedPoints& made, const QualityOptions& options,
              std::vector<Quality>& result) {
  const bool is_labelled = options.labels == Labels::kGiven;
  const std::optional<Junk> found =
      junk(real, made, is_labelled ? options.training.num_classes : 1);
  if (!found) {
    log_warning("the junk rate is left out: it takes {} real images in classes of two or more",
                2 * kFewestForJunk);
    return;
  }
  Quality& quality = result.emplace_back();
  quality.name = kJunkRate;
  quality.value = found->rate;
  if (is_labelled) quality.per_class = found->per_class;
  quality.between_real = found->expected_of_real;
  quality.against = "half of " + options.against;
}

// One half of the real images makes the feature space, the other is compared in it: neither the
// private images nor those that the space was made for have a part in the comparison.
std::vector<Quality> in_feature_space(const LabelledImages& synthetic, const LabelledImages& real,
                                      const QualityOptions& options) {
  constexpr std::int64_t kMostPoints = 5000;  // of the neighbourhoods, whose cost is quadratic
  const Halves halves = halves_of(real, options.training.seed);
  Epochs epochs("training a feature space", options.training.protocol);
  const FeatureSpace space(halves.first, options.training, std::ref(epochs));
  const Tensor held_out = space(halves.second.images).features;
  Progress progress("features", synthetic.labels.size(0), "images");
  const Features made = space(synthetic.images, [&](std::int64_t images) {
    check_interrupt();
    progress.advance(images);
  });
  const Tensor order = torch::randperm(made.features.size(0)).slice(0, 0, kMostPoints);
  const Overlap found =
      overlap(held_out.slice(0, 0, kMostPoints), made.features.index_select(0, order));
  const Score score = inception_score(made.probabilities.index_select(
      0, torch::randperm(made.probabilities.size(0))));  // parts of all classes
  const double distance = frechet_distance(moments_of(held_out), moments_of(made.features));
  const auto one = [&](const char* name, double value) {
    return Quality{.name = name, .value = value, .against = "half of " + options.against};
  };
  std::vector<Quality> result = {
      one("classifier_fid", distance),
      {.name = "inception_score", .value = score.value, .deviation = score.deviation},
      one("precision", found.precision),
      one("recall", found.recall),
      one("density", found.density),
      one("coverage", found.coverage)};
  if (options.labels == Labels::kMissing) result.push_back(classes_seen(made.probabilities));
  add_junk(points_of(held_out, halves.second, options.labels),
           points_of(made.features, synthetic, options.labels), options, result);
  return result;
}

void add_wasserstein(const LabelledImages& synthetic, LabelledImages real,
                     const QualityOptions& options, std::vector<Quality>& result) {
  constexpr std::int64_t kOfOneClass = 2000;
  const bool is_labelled = options.labels == Labels::kGiven;
  const std::int64_t classes = is_labelled ? options.training.num_classes : 1;
  if (!is_labelled) real.labels = torch::zeros_like(real.labels);
  Progress progress("transport to the real images", 2 * classes, "classes");
  const auto report = [&] {
    check_interrupt();
    progress.advance(1);
  };
  // What it is between real images and others is computed with as many of them as there are, so
  // that there must be as many between synthetic and real ones.
  const Halves halves = halves_of(real, options.training.seed);
  WassersteinOptions how;
  how.seed = options.training.seed;
  if (!is_labelled) how.per_class = std::min(kOfOneClass, halves.first.labels.size(0));
  const Wasserstein found = wasserstein(synthetic, real, classes, how, report);
  const Wasserstein between = wasserstein(halves.first, halves.second, classes, how, report);
  const auto add = [&](const char* name, const ClassDistances& distances,
                       const ClassDistances& between_real) {
    result.push_back({.name = name,
                      .value = distances.value,
                      .deviation = std::nullopt,
                      .per_class = distances.per_class,
                      .between_real = between_real.value,
                      .images_per_class = how.per_class,
                      .against = options.against,
                      .regularization = std::nullopt});
  };
  add("wasserstein_exact", found.exact, between.exact);
  add("wasserstein_entropic", found.entropic, between.entropic);
  result.back().regularization = how.regularization;
}

// The mean of each class over the repetitions that have it; NaN where none has.
std::vector<double> mean_of_classes(const std::vector<const Quality*>& found) {
  std::vector<double> means;
  for (std::size_t k = 0; k < found.front()->per_class.size(); ++k) {
    std::vector<double> values;
    for (const Quality* quality : found)
      if (k < quality->per_class.size() && !std::isnan(quality->per_class[k]))
        values.push_back(quality->per_class[k]);
    means.push_back(values.empty() ? std::nan("") : spread_of(values).mean);
  }
  return means;
}

Quality average(const std::vector<const Quality*>& found) {
  Quality result = *found.front();
  std::vector<double> values;
  std::vector<double> between_real;
  for (const Quality* quality : found) {
    if (quality->value) values.push_back(*quality->value);
    if (quality->between_real) between_real.push_back(*quality->between_real);
  }
  if (!values.empty()) {
    result.value = spread_of(values).mean;
    result.deviation = spread_of(values).deviation;
  }
  if (!between_real.empty()) result.between_real = spread_of(between_real).mean;
  result.per_class = mean_of_classes(found);
  return result;
}

}  // namespace

std::vector<Quality> average(const std::vector<std::vector<Quality>>& repetitions) {
  if (repetitions.size() == 1) return repetitions.front();
  std::vector<Quality> result;
  for (const Quality& first : repetitions.front()) {
    std::vector<const Quality*> found;
    for (const std::vector<Quality>& one : repetitions)
      for (const Quality& quality : one)
        if (quality.name == first.name) found.push_back(&quality);
    result.push_back(average(found));
  }
  return result;
}

std::vector<Quality> quality(const LabelledImages& synthetic, const LabelledImages& real,
                             const QualityOptions& options) {
  std::vector<Quality> result = in_feature_space(synthetic, real, options);
  add_wasserstein(synthetic, real, options, result);
  return result;
}

}  // namespace obol::evaluate
