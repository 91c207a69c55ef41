#include "obol/method/dp_merf/method.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/method/dp_merf/entry.h"
#include "obol/method/state.h"

namespace obol::method::dp_merf {
namespace {

using torch::Tensor;

constexpr const char* kTargets = "targets";
// The part of a record's unit vector that counts it. The count of a class has the noise over this;
// the features have the noise times 1 / sqrt(1 - 0.01).
constexpr double kCounting = 0.1;
constexpr std::int64_t kAtOnce = 512;

double feature_part() { return std::sqrt(1 - kCounting * kCounting); }

}  // namespace

void check(const Options& options, const data::Dataset::PublicFacts& facts,
           const recipe::Places& places) {
  const std::int64_t classes = classes_of(facts);
  recipe::located(places, "generator.architecture", [&] {
    model::make_generator(options.generator, facts.shape, facts.num_classes);
  });
  recipe::located(places, "method.batch", [&] {
    const std::int64_t batch = options.method.batch;
    if (batch % classes != 0 || batch / classes < 2)
      throw InvalidArgument(violation(
          "method.batch",
          fmt::format("a multiple of the {} classes, two of each at least", classes), batch));
  });
}

Tensor means_of(const Tensor& sums, double noise_multiplier) {
  const std::int64_t features = sums.size(1) - 1;
  // A class that is hardly there must not be divided by what the noise left of its count.
  const double least = std::max(1.0, 2 * noise_multiplier / kCounting);
  const Tensor counts = sums.narrow(1, features, 1).div(kCounting).clamp_min(least);
  return sums.narrow(1, 0, features).div(counts * feature_part());
}

Tensor distance(const Tensor& rows, const Tensor& targets) {
  const std::int64_t classes = targets.size(0);
  const std::int64_t each = rows.size(0) / classes;
  const Tensor means = rows.view({classes, each, rows.size(1)}).mean(1);
  // |mean|^2 has 1 / each of the products of rows with themselves, which are 1 whatever the rows
  // are: without them it is the mean over pairs of different rows.
  const auto n = static_cast<double>(each);
  const Tensor own = (means.square().sum(1) * n - 1) / (n - 1);
  const Tensor between = (means * targets).sum(1);
  return (own - 2 * between + targets.square().sum(1)).mean();
}

DpMerf::DpMerf(const Options& options, const Private<data::Dataset>& data,
               const MethodContext& context)
    : GeneratorMethod({options.generator, options.optimizer, options.method.average},
                      data.facts().shape, data.facts().num_classes, context),
      options_(options),
      classes_(classes_of(data.facts())),
      features_(data.facts().shape.pixels(), {.count = options.method.frequencies,
                                              .frequencies = {options.method.frequency},
                                              .device = context.device}),
      records_(data, {.device = context.device, .lowest = lowest_of(options.generator)}),
      labels_(torch::arange(classes_)
                  .repeat_interleave(options.method.batch / classes_)
                  .to(context.device)),
      targets_(torch::zeros({classes_, features_.dimension()}, context.device)) {
  check(options, data.facts());
}

void DpMerf::start() {
  barrier::SumBarrier barrier(*context().door, {.clip_norm = 1,
                                                .noise_multiplier = options_.noise_multiplier,
                                                .groups = classes_,
                                                .dimension = features_.dimension() + 1,
                                                .purpose = kEmbedding});
  const auto contributions = [&](const barrier::Sample& some) {
    const Tensor features = features_.of_records(some.points) * feature_part();
    const Tensor counting = torch::full({features.size(0), 1}, kCounting, features.options());
    return barrier::Contributions{.rows = torch::cat({features, counting}, 1),
                                  .groups = some.labels()};
  };
  targets_ = means_of(barrier.release(records_, contributions, kAtOnce), options_.noise_multiplier)
                 .to(context().device, torch::kFloat);
}

void DpMerf::step(std::int64_t step, run::UnsafeDiagnostics& /*diagnostics*/) {
  rate_ = trainee().begin(step, options_.method.steps);
  const Tensor images = trainee().generate(labels_, context().bits);
  const Tensor loss = distance(features_(images.flatten(1)), targets_);
  loss.backward();
  trainee().finish();
  distance_ = loss.detach();
}

void DpMerf::save_more(run::Sections& sections) { sections[kTargets] = saved(targets_); }

void DpMerf::load_more(const run::Sections& sections) { restore(sections, kTargets, targets_); }

std::vector<run::Metric> DpMerf::metrics() {
  return {{"learning_rate", run::Public(rate_, run::Origin::kSyntheticOnly)},
          {"distance", run::Public(distance_.item<double>(), run::Origin::kReleased)}};
}

}  // namespace obol::method::dp_merf
