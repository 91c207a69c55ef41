#include "obol/method/fit.h"

#include <memory>

#include "obol/barrier/purposes.h"
#include "obol/method/summit/entry.h"
#include "obol/method/summit/method.h"

namespace obol::method::summit {
namespace {

Options options_of(const Experiment& experiment, const privacy::Plan& plan) {
  const PrivacyOptions& privacy = experiment.privacy;
  Options options{.method = experiment.options<MethodOptions>(),
                  .optimizer = experiment.optimizer,
                  .generator = experiment.generator};
  if (options.method.has_moments()) options.moments_noise = noise_of(plan, kMoments);
  if (options.method.has_teacher()) options.teacher_noise = noise_of(plan, kTeacher);
  if (!options.method.has_transport()) return options;
  options.transport_noise = noise_of(plan, barrier::kTraining);
  options.sampling_rate = needed(privacy.sampling_rate, "sampling_rate");
  options.generated_batch = needed(privacy.generated_batch, "generated_batch");
  options.transport_steps = plan.steps;
  options.histogram_noise = privacy.histogram_noise;
  return options;
}

}  // namespace

run::Outcome Entry::fit(const Experiment& experiment, const Data& data, const FitOptions& options) {
  const std::optional<privacy::Plan> plan = price_of(experiment);
  const Options method_options =
      recipe::located(experiment.places, "privacy", [&] { return options_of(experiment, *plan); });
  check(method_options, data.facts(), experiment.places);
  return method::fit(experiment, plan, data, options,
                     {.steps = method_options.total_steps(),
                      .make = [&](const MethodContext& context) -> std::unique_ptr<run::Method> {
                        return std::make_unique<Summit>(method_options, data, context);
                      }});
}

}  // namespace obol::method::summit
