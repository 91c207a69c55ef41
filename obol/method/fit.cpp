#include "obol/method/fit.h"

#include "obol/barrier/recorded_step.h"
#include "obol/base/console.h"
#include "obol/method/place.h"

namespace obol::method {

run::Outcome fit(const Experiment& experiment, const Terms& terms,
                 const Private<data::Dataset>& data, const FitOptions& options,
                 const std::function<std::unique_ptr<run::Method>(const Setting&)>& make) {
  const std::optional<privacy::Plan>& plan = terms.plan;
  if (plan && plan->calibrated) log_info("{}", *plan->calibrated);
  const barrier::WorkStream stream(options.device);
  if (experiment.seed) torch::manual_seed(static_cast<std::uint64_t>(*experiment.seed));
  Place place = take_place({.folder = options.folder,
                            .resume = options.resume,
                            .recipe = experiment.resolved,
                            .seed = experiment.seed,
                            .neighbours = plan ? std::optional(plan->neighbours) : std::nullopt},
                           data);
  const std::unique_ptr<RandomBits> bits =
      make_bits(experiment.seed, place.ledger ? place.ledger->head().entries : 0);
  if (!experiment.seed) torch::manual_seed((*bits)());
  run::Steps steps = experiment.steps;
  steps.total = terms.steps;
  run::Disclosures disclosures(place.folder);
  Setting setting{.folder = place.folder,
                  .ledger = nullptr,
                  .guard = nullptr,
                  .door = nullptr,
                  .disclosures = disclosures,
                  .bits = *bits,
                  .device = options.device};
  if (!plan) return run::train(*make(setting), place.folder, steps, nullptr, options.diagnostics);
  std::optional<privacy::Budget> budget;
  if (plan->budget) budget = privacy::Budget{*plan->budget, plan->delta};
  privacy::BudgetGuard guard(*place.ledger, budget, {.block = terms.reserve});
  setting.ledger = &*place.ledger;
  setting.guard = &guard;
  barrier::Door door(guard, *bits);
  setting.door = &door;
  run::Payment payment{.ledger = *place.ledger,
                       .guard = guard,
                       .terms = {.delta = plan->delta, .published = plan->published},
                       .budget = plan->budget};
  return run::train(*make(setting), place.folder, steps, &payment, options.diagnostics);
}

}  // namespace obol::method
