// What a recipe is going to release, and what that will cost: its section [privacy], in which
// everything stands that buys privacy, and nothing else.
//
//   Plan plan = plan_of(recipe.read<PrivacyOptions>("privacy"));
//   account(plan.events(), plan.delta).epsilon                 // the price, before paying
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "obol/privacy/accountant.h"
#include "obol/privacy/published.h"
#include "obol/recipe/fields.h"

namespace obol::privacy {

struct PrivacyOptions {
  // No defaults: what buys privacy must be said.
  std::optional<std::string> barrier;
  std::optional<double> sampling_rate;
  std::optional<std::int64_t> shards;
  std::optional<std::string> schedule;
  std::optional<double> noise_multiplier;
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> spare_steps;
  std::optional<std::int64_t> generated_batch;
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<double> histogram_noise;
  std::optional<std::int64_t> validation_releases;
  std::optional<double> validation_noise;
  std::optional<std::string> follows;

  void describe(recipe::Fields& fields);
};

struct Plan {
  std::vector<PlannedEvent> planned;  // training last
  Neighbours neighbours;
  Delta delta;
  std::optional<Epsilon> budget;
  std::optional<PublishedCount> published;
  // What shards that are drawn would cost if their being drawn hid who was, which nobody has
  // proved: a critic remembers.
  std::optional<Event> if_amplified;
  double noise_multiplier;  // of one output, as in the recipe or calibrated
  std::int64_t steps;
  std::int64_t releases;  // of training that one record meets; what a ledger will have
  // "noise_multiplier 0.87 (calibrated)": what the recipe left open, and was found for the budget.
  std::optional<std::string> calibrated;

  [[nodiscard]] std::vector<Event> events() const;
};

// InvalidArgument where a key is missing, or does not go with the others, or the barrier is none:
// there is nothing to account for. One of noise_multiplier
// and steps may be left out where epsilon is given: the least noise, the most steps are then found.
Plan plan_of(const PrivacyOptions& options, const Accounting& how = {});

// What of the plan is within its budget: training ends earlier where all of it is not.
// BudgetExceeded where not one step is.
std::vector<PlannedEvent> within_budget(const Plan& plan, const Accounting& how = {});

}  // namespace obol::privacy
