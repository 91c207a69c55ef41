#include "obol/method/fit.h"

#include "obol/barrier/recorded_step.h"
#include "obol/base/console.h"

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

// Trains in a folder that is open, at somebody's expense or at none.
run::Outcome train(const Experiment& experiment, const run::RunFolder& folder,
                   const MethodContext& context, const FitOptions& options,
                   const Training& training, run::Payment* payment) {
  run::Steps steps = experiment.steps;
  steps.total = training.steps;
  return run::train(*training.make(context), folder, steps, payment, options.diagnostics);
}

// What makes the shards' random numbers differ from one another.
constexpr std::int64_t kApart = 1'000'003;

MethodContext context_of(const Experiment& experiment, const Place& place,
                         DisclosureLog& disclosures, const FitOptions& options) {
  const std::optional<std::int64_t> seed = experiment.method.seed;
  const std::int64_t resumed_at = place.ledger ? place.ledger->head().entries : 0;
  return {.disclosures = &disclosures,
          .bits = *place.bits,
          .bits_of =
              [seed, resumed_at](std::int64_t part) {
                return make_bits(seed ? std::optional(*seed + kApart * (part + 1)) : seed,
                                 resumed_at);
              },
          .device = options.device};
}

}  // namespace

run::Outcome fit(const Experiment& experiment, const std::optional<privacy::Plan>& plan,
                 const Private<data::Dataset>& data, const FitOptions& options,
                 const Training& training) {
  if (plan && plan->calibrated) log_info("{}", *plan->calibrated);
  // Refused, where not one step is within the budget, before there is a folder.
  std::vector<privacy::PlannedEvent> planned;
  if (plan) planned = within_budget(*plan);
  const barrier::WorkStream stream(options.device);
  const std::optional<std::int64_t> seed = experiment.method.seed;
  if (seed) torch::manual_seed(static_cast<std::uint64_t>(*seed));
  Place place = take_place({.folder = options.folder,
                            .resume = options.resume,
                            .recipe = experiment.resolved,
                            .seed = seed,
                            .neighbours = plan ? std::optional(plan->neighbours) : std::nullopt},
                           data);
  if (!seed) torch::manual_seed((*place.bits)());
  run::Disclosures disclosures(place.folder);
  MethodContext context = context_of(experiment, place, disclosures, options);
  context.own = place.folder.make_private();
  if (!plan) return train(experiment, place.folder, context, options, training, nullptr);
  std::optional<privacy::Budget> budget;
  if (plan->budget) budget = privacy::Budget{*plan->budget, plan->delta};
  privacy::BudgetGuard guard = guard_of(place, budget, plan->delta, training.reserve);
  const run::Ending when_refused = plan_run(guard, *place.ledger, *plan, planned);
  barrier::Door door(guard, *place.bits);
  context.ledger = &*place.ledger;
  context.guard = &guard;
  context.door = &door;
  run::Payment payment{.ledger = *place.ledger,
                       .guard = guard,
                       .terms = {.delta = plan->delta, .published = plan->published},
                       .budget = plan->budget,
                       .when_refused = when_refused};
  // A copy of this folder that is resumed is told so from here on.
  place.registration->update(place.ledger->record(), plan->delta);
  const run::Outcome outcome =
      train(experiment, place.folder, context, options, training, &payment);
  place.registration->update(place.ledger->record(), plan->delta);
  return outcome;
}

run::Outcome fit(const Experiment& experiment, OpenRun& open, const FitOptions& options,
                 const Training& training) {
  const barrier::WorkStream stream(options.device);
  // A seed takes no privacy away here: it is the generator's alone.
  torch::manual_seed(experiment.method.seed ? static_cast<std::uint64_t>(*experiment.method.seed)
                                            : (*open.place.bits)());
  run::Disclosures disclosures(open.place.folder);
  const MethodContext context = context_of(experiment, open.place, disclosures, options);
  if (!open.place.ledger)
    return train(experiment, open.place.folder, context, options, training, nullptr);
  privacy::BudgetGuard guard(*open.place.ledger, std::nullopt);
  run::Payment payment{.ledger = *open.place.ledger, .guard = guard, .terms = *open.terms};
  return train(experiment, open.place.folder, context, options, training, &payment);
}

}  // namespace obol::method
