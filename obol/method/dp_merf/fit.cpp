#include "obol/method/fit.h"

#include <memory>

#include "obol/method/dp_merf/entry.h"
#include "obol/method/dp_merf/method.h"

namespace obol::method::dp_merf {

run::Outcome Entry::fit(const Experiment& experiment, const Data& data, const FitOptions& options) {
  const std::optional<privacy::Plan> plan = price_of(experiment);
  const Options method_options{.method = experiment.options<MethodOptions>(),
                               .optimizer = experiment.optimizer,
                               .generator = experiment.generator,
                               .noise_multiplier = plan->noise_multiplier};
  check(method_options, data.facts(), experiment.places);
  return method::fit(experiment, plan, data, options,
                     {.steps = method_options.method.steps,
                      .make = [&](const MethodContext& context) -> std::unique_ptr<run::Method> {
                        return std::make_unique<DpMerf>(method_options, data, context);
                      },
                      .reserve = 1});
}

}  // namespace obol::method::dp_merf
