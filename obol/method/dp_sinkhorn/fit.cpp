#include "obol/method/fit.h"

#include <memory>

#include "obol/method/dp_sinkhorn/entry.h"
#include "obol/method/dp_sinkhorn/method.h"

namespace obol::method::dp_sinkhorn {
namespace {

Options options_of(const Experiment& experiment, const std::optional<privacy::Plan>& plan) {
  const PrivacyOptions& privacy = experiment.privacy;
  return {.method = experiment.options<MethodOptions>(),
          .optimizer = experiment.optimizer,
          .generator = experiment.generator,
          .barrier = needed(privacy.barrier, "barrier"),
          .sampling_rate = needed(privacy.sampling_rate, "sampling_rate"),
          .noise_multiplier = plan ? plan->noise_multiplier : 0,
          .generated_batch = needed(privacy.generated_batch, "generated_batch"),
          .steps = plan ? plan->steps : needed(privacy.steps, "steps"),
          .histogram_noise = privacy.histogram_noise};
}

}  // namespace

run::Outcome Entry::fit(const Experiment& experiment, const Data& data, const FitOptions& options) {
  const std::optional<privacy::Plan> plan = price_of(experiment);
  const Options method_options =
      recipe::located(experiment.places, "privacy", [&] { return options_of(experiment, plan); });
  check(method_options, data.facts(), experiment.places);
  return method::fit(experiment, plan, data, options,
                     {.steps = method_options.steps,
                      .make = [&](const MethodContext& context) -> std::unique_ptr<run::Method> {
                        return std::make_unique<DpSinkhorn>(method_options, data, context);
                      }});
}

}  // namespace obol::method::dp_sinkhorn
