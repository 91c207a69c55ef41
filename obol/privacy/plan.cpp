#include "obol/privacy/plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/text.h"
#include "obol/privacy/stages.h"

namespace obol::privacy {
namespace {

constexpr std::int64_t kMostSteps = std::int64_t{1} << 40;

[[noreturn]] void refuse_one_step(Epsilon budget, double noise_multiplier) {
  throw BudgetExceeded(
      fmt::format("epsilon must be enough for one step, but {} is not at noise_multiplier {}",
                  budget.value(), noise_multiplier));
}

Budget budget_of(const PlanRequest& request) {
  if (!request.budget)
    throw InvalidArgument(
        violation("the budget", "given where noise or steps are to be found", "missing"));
  return {*request.budget, request.delta};
}

void find_noise(Plan& plan, const PlanRequest& request, const Accounting& how) {
  plan.noise_multiplier = smallest_factor(budget_of(request), request.releases(plan.steps), how);
  plan.calibrated = fmt::format("noise_multiplier {}, the least for the budget",
                                rounded_up(plan.noise_multiplier));
}

void find_steps(Plan& plan, const PlanRequest& request, const Accounting& how) {
  const Budget budget = budget_of(request);
  plan.steps = most_steps(
      budget,
      [&](std::int64_t steps) {
        return events_of(with_noise(request.releases(steps), plan.noise_multiplier));
      },
      kMostSteps, how);
  if (plan.steps == 0) refuse_one_step(budget.epsilon, plan.noise_multiplier);
  plan.calibrated = fmt::format("{} steps, the most for the budget",
                                with_thousands(static_cast<std::uint64_t>(plan.steps)));
}

}  // namespace

std::vector<Event> Plan::events() const { return events_of(planned); }

std::vector<PlannedEvent> with_noise(const std::vector<Release>& releases, double factor) {
  std::vector<PlannedEvent> planned;
  for (const Release& release : releases)
    planned.push_back(
        {release.purpose,
         release.share ? with_noise(release.event, joint(factor, *release.share)) : release.event});
  return planned;
}

double smallest_factor(const Budget& budget, const std::vector<Release>& releases,
                       const Accounting& how) {
  for (const Release& release : releases)
    if (release.share && !(*release.share > 0))
      throw InvalidArgument(violation(fmt::format("the share of the {}", release.purpose),
                                      "finite and positive", *release.share));
  if (std::none_of(releases.begin(), releases.end(),
                   [](const Release& release) { return release.share.has_value(); }))
    throw InvalidArgument(
        "a release must have a share for its noise to be found, but all are fixed");
  return smallest_noise(
      budget, [&](double factor) { return events_of(with_noise(releases, factor)); }, how);
}

Plan make_plan(const PlanRequest& request, const Accounting& how) {
  if (!request.noise_multiplier && !request.steps)
    throw InvalidArgument(
        violation("noise_multiplier or steps", "given to find the other", "missing"));
  Plan plan{.planned = {},
            .neighbours = request.neighbours,
            .delta = request.delta,
            .budget = request.budget,
            .published = std::nullopt,
            .supposed = std::nullopt,
            .noise_multiplier = request.noise_multiplier.value_or(0),
            .steps = request.steps.value_or(0),
            .releases = 0,
            .calibrated = std::nullopt};
  if (!request.noise_multiplier) find_noise(plan, request, how);
  if (!request.steps) find_steps(plan, request, how);
  plan.planned = with_noise(request.releases(plan.steps), plan.noise_multiplier);
  plan.releases = count_of(plan.planned.back().event);
  return plan;
}

std::vector<PlannedEvent> within_budget(const Plan& plan, const Accounting& how) {
  if (!plan.budget || account(plan.events(), plan.delta, how).epsilon <= plan.budget->value())
    return plan.planned;
  std::vector<PlannedEvent> planned = plan.planned;
  Event& training = planned.back().event;
  const std::int64_t most = most_steps(
      {*plan.budget, plan.delta},
      [&](std::int64_t count) {
        training = with_count(training, count);
        return events_of(planned);
      },
      count_of(training), how);
  if (most == 0) refuse_one_step(*plan.budget, plan.noise_multiplier);
  training = with_count(training, most);
  return planned;
}

}  // namespace obol::privacy
