#include "obol/method/privacy_options.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "obol/method/methods.h"

namespace obol::method {
namespace {

constexpr std::array<std::string_view, 4> kBarrierNames = {"row", "batch", "record", "none"};

}  // namespace

std::string_view name_of(Barrier barrier) {
  return kBarrierNames.at(static_cast<std::size_t>(barrier));
}

Barrier barrier_from(std::string_view name) {
  const auto* const found = std::find(kBarrierNames.begin(), kBarrierNames.end(), name);
  if (found == kBarrierNames.end())
    throw InvalidArgument(violation("a barrier", "row, batch, record or none", name));
  return static_cast<Barrier>(found - kBarrierNames.begin());
}

void PrivacyOptions::describe(recipe::Fields& fields) {
  fields.choice("barrier", barrier, kBarrierNames,
                "what is clipped: each generated row, all rows together, each private record; "
                "none: no privacy at all");
  fields.number("sampling_rate", sampling_rate, recipe::between(0, 1),
                "probability of a record to take part in a step (Poisson)");
  fields.integer("shards", shards, recipe::at_least(1),
                 "disjoint parts of the data that take turns, instead of sampling");
  fields.text("schedule", schedule, {"cyclic", "uniform"},
              "whose turn it is: each shard in order, or one that is drawn");
  fields.number("noise_multiplier", noise_multiplier, recipe::positive(),
                "standard deviation of the noise over the sensitivity");
  fields.integer("steps", steps, recipe::at_least(1), "releases of training");
  fields.integer("spare_steps", spare_steps, recipe::at_least(0),
                 "releases planned besides, for steps that a killed run repeats");
  fields.integer("generated_batch", generated_batch, recipe::at_least(1),
                 "generated rows of a step; fixed, never the drawn batch");
  fields.number("epsilon", epsilon, recipe::positive(), "the budget");
  fields.number("delta", delta, recipe::between(0, 1), "of the budget");
  fields.number("histogram_noise", histogram_noise, recipe::positive(),
                "standard deviation of the noise on the class histogram, released once");
  fields.integer("validation_releases", validation_releases, recipe::at_least(0),
                 "noisy accuracies on the private records that are planned, for obol evaluate");
  fields.number("validation_noise", validation_noise, recipe::positive(),
                "standard deviation of the noise on each of them, in records");
  fields.text("follows", follows, names_with_papers(),
              "a paper whose own count is shown beside the guarantee");
}

}  // namespace obol::method
