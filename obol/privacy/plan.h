// What is going to be released from one budget: several named releases, and what they will cost.
//
//   Plan plan = make_plan({.neighbours = Neighbours::kAddRemove,
//                          .delta = Delta{1e-5},
//                          .budget = Epsilon{10},
//                          .steps = 1,
//                          .releases = [](std::int64_t) -> std::vector<Release> {
//                            return {{"class histogram", Gaussian{.count = 1}, 0.2},
//                                    {"training", Gaussian{.count = 1}, 0.8}};
//                          }});
//   account(plan.events(), plan.delta).epsilon                 // the price, before paying
//
// What is released, and in which shares of the budget, is for a method to say.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "obol/privacy/accountant.h"
#include "obol/privacy/calibrate.h"
#include "obol/privacy/ledger.h"
#include "obol/privacy/published.h"

namespace obol::privacy {

// With a share, the noise of the event is the plan's to choose: its multiplier becomes
// joint(factor, share), where one factor is common to all releases that have a share. So shares are
// in units of 1 / multiplier^2, in which the releases of Gaussian mechanisms add up. Without a
// share the event stays as it is.
struct Release {
  std::string purpose;
  Event event;
  std::optional<double> share = std::nullopt;
};

// What the plan of these releases has at that factor.
std::vector<PlannedEvent> with_noise(const std::vector<Release>& releases, double factor);

// The least factor that the budget allows. InvalidArgument where no release has a share.
double smallest_factor(const Budget& budget, const std::vector<Release>& releases,
                       const Accounting& how = {});

// One of noise_multiplier and steps may be left out where there is a budget: the least noise, the
// most steps are then found.
struct PlanRequest {
  Neighbours neighbours;
  Delta delta;
  std::optional<Epsilon> budget = std::nullopt;
  std::optional<double> noise_multiplier = std::nullopt;  // the factor
  std::optional<std::int64_t> steps = std::nullopt;       // of training that release something
  // Of so many steps; the last is the one that makes a step of training.
  std::function<std::vector<Release>(std::int64_t steps)> releases;
};

// What the same releases would cost under an assumption that has not been proved.
struct Supposition {
  std::string assumption;  // "if ...", for people
  Event event;
};

struct Plan {
  std::vector<PlannedEvent> planned;  // training last
  Neighbours neighbours;
  Delta delta;
  std::optional<Epsilon> budget;
  std::optional<PublishedCount> published;
  std::optional<Supposition> supposed;
  double noise_multiplier;  // the factor: of one output, as in the recipe or calibrated
  // Of training that release something, which is not how often an optimiser steps: what was
  // released once may serve any number of its steps.
  std::int64_t steps;
  std::int64_t releases;  // of training that one record meets; what a ledger will have
  // "noise_multiplier 0.87 (calibrated)": what the recipe left open, and was found for the budget.
  std::optional<std::string> calibrated;

  [[nodiscard]] std::vector<Event> events() const;
};

// InvalidArgument where too much is left out; BudgetExceeded where the budget does not allow one
// step.
Plan make_plan(const PlanRequest& request, const Accounting& how = {});

// What of the plan is within its budget: training ends earlier where all of it is not.
// BudgetExceeded where not one step is.
std::vector<PlannedEvent> within_budget(const Plan& plan, const Accounting& how = {});

}  // namespace obol::privacy
