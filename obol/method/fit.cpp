#include "obol/method/fit.h"

#include "obol/barrier/recorded_step.h"
#include "obol/base/console.h"
#include "obol/method/place.h"

namespace obol::method {
namespace {

// Fixes what the run may release before its first release. What refuses a step later on: the budget
// where it allows less than the recipe wants, else the plan. A ledger that was begun without a plan
// goes on without.
run::Ending plan_run(privacy::BudgetGuard& guard, const privacy::Ledger& ledger,
                     const privacy::Plan& plan, const std::vector<privacy::PlannedEvent>& planned) {
  const privacy::LedgerRecord& record = ledger.record();
  if (!record.is_planned() && !record.spent().empty()) return run::Ending::kBudget;
  if (!record.is_planned()) {
    const std::int64_t allowed = privacy::count_of(planned.back().event);
    if (allowed < plan.releases)
      log_info("the budget allows {} of {} releases of training: those are planned", allowed,
               plan.releases);
    guard.plan(planned);
  }
  const privacy::PlannedEvent& training = plan.planned.back();
  return privacy::certified_count(record, training.purpose) < plan.releases ? run::Ending::kBudget
                                                                            : run::Ending::kPlan;
}

}  // namespace

run::Outcome fit(const Experiment& experiment, const Terms& terms,
                 const Private<data::Dataset>& data, const FitOptions& options,
                 const std::function<std::unique_ptr<run::Method>(const Setting&)>& make) {
  const std::optional<privacy::Plan>& plan = terms.plan;
  if (plan && plan->calibrated) log_info("{}", *plan->calibrated);
  // Refused, where not one step is within the budget, before there is a folder.
  std::vector<privacy::PlannedEvent> planned;
  if (plan) planned = within_budget(*plan);
  const barrier::WorkStream stream(options.device);
  if (experiment.method.seed)
    torch::manual_seed(static_cast<std::uint64_t>(*experiment.method.seed));
  Place place = take_place({.folder = options.folder,
                            .resume = options.resume,
                            .recipe = experiment.resolved,
                            .seed = experiment.method.seed,
                            .neighbours = plan ? std::optional(plan->neighbours) : std::nullopt},
                           data);
  const std::int64_t resumed_at = place.ledger ? place.ledger->head().entries : 0;
  const std::unique_ptr<RandomBits> bits = make_bits(experiment.method.seed, resumed_at);
  if (!experiment.method.seed) torch::manual_seed((*bits)());
  run::Steps steps = experiment.steps;
  steps.total = terms.steps;
  run::Disclosures disclosures(place.folder);
  Setting setting{.folder = place.folder,
                  .ledger = nullptr,
                  .guard = nullptr,
                  .door = nullptr,
                  .resumed_at = resumed_at,
                  .disclosures = disclosures,
                  .bits = *bits,
                  .device = options.device};
  if (!plan) return run::train(*make(setting), place.folder, steps, nullptr, options.diagnostics);
  std::optional<privacy::Budget> budget;
  if (plan->budget) budget = privacy::Budget{*plan->budget, plan->delta};
  const auto before_plan = [&](const std::vector<privacy::Stage>& stages) {
    place.registration->charge(place.ledger->record(), stages, plan->delta);
  };
  privacy::BudgetGuard guard(
      *place.ledger, budget,
      {.block = terms.reserve, .accounting = {}, .before_plan = before_plan});
  const run::Ending when_refused = plan_run(guard, *place.ledger, *plan, planned);
  setting.ledger = &*place.ledger;
  setting.guard = &guard;
  barrier::Door door(guard, *bits);
  setting.door = &door;
  run::Payment payment{.ledger = *place.ledger,
                       .guard = guard,
                       .terms = {.delta = plan->delta, .published = plan->published},
                       .budget = plan->budget,
                       .when_refused = when_refused};
  // Whoever goes on with a copy of this folder is told so from here on.
  place.registration->update(place.ledger->record(), plan->delta);
  const run::Outcome outcome =
      run::train(*make(setting), place.folder, steps, &payment, options.diagnostics);
  place.registration->update(place.ledger->record(), plan->delta);
  return outcome;
}

}  // namespace obol::method
