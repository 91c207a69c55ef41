#include "obol/method/training_plan.h"

#include <fmt/format.h>

#include "obol/barrier/purposes.h"

namespace obol::method {

privacy::PlanRequest request_of(const PrivacyOptions& options, privacy::Neighbours neighbours) {
  if (options.shards && options.sampling_rate)
    throw InvalidArgument(
        "privacy.sampling_rate and privacy.shards must not both be given: records are sampled, or "
        "shards take turns");
  if (options.validation_noise)
    static_cast<void>(needed(options.validation_releases, "validation_releases"));
  privacy::PlanRequest request{.neighbours = neighbours,
                               .delta = Delta{needed(options.delta, "delta")},
                               .budget = std::nullopt,
                               .noise_multiplier = options.noise_multiplier,
                               .steps = options.steps,
                               .releases = {}};
  if (options.epsilon) request.budget = Epsilon{*options.epsilon};
  if (!options.steps) static_cast<void>(needed(options.noise_multiplier, "noise_multiplier"));
  if (!options.noise_multiplier || !options.steps)
    static_cast<void>(needed(options.epsilon, "epsilon"));
  return request;
}

std::vector<privacy::Release> validations(const PrivacyOptions& options) {
  const std::int64_t count = options.validation_releases.value_or(0);
  if (count == 0) return {};
  return {{barrier::kValidation,
           privacy::Gaussian{needed(options.validation_noise, "validation_noise"), count}}};
}

std::int64_t outputs_per_step(const PrivacyOptions& options) {
  return options.barrier == Barrier::kRow ? needed(options.generated_batch, "generated_batch") : 1;
}

bool follows(const PrivacyOptions& options, std::string_view method) {
  if (options.follows && *options.follows != method)
    throw InvalidArgument(
        violation("privacy.follows", std::string(method) + " with that method", *options.follows));
  return options.follows.has_value();
}

std::string why_outputs_share(std::int64_t outputs) {
  return fmt::format(
      "it counts the {0} outputs of a step as if each had drawn a subsample of its own, but all "
      "{0} come from the same one, so that a record which is drawn is exposed {0} times at once",
      outputs);
}

}  // namespace obol::method
