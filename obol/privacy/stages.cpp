#include "obol/privacy/stages.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace obol::privacy {
namespace {

bool is_pure(const Stage& stage) {
  return std::all_of(stage.releases.begin(), stage.releases.end(), [](const PlannedEvent& release) {
    return std::holds_alternative<Laplace>(release.event) ||
           std::holds_alternative<SampledLaplace>(release.event) ||
           std::holds_alternative<LocalLaplace>(release.event) ||
           std::holds_alternative<LocalRandomizedResponse>(release.event);
  });
}

// The k-th stage that needs a delta gets delta / (k (k + 1)), which leaves delta / (k + 1); the
// last takes what is left.
std::vector<Delta> shares_of(const std::vector<Stage>& stages, Delta delta) {
  constexpr double kRounding = 1 - 4 * std::numeric_limits<double>::epsilon();
  std::vector<Delta> shares;
  double k = 1;
  for (std::size_t i = 0; i + 1 < stages.size(); ++i) {
    const bool needs_none = is_pure(stages[i]);
    shares.emplace_back(needs_none ? 0 : kRounding * delta.value() / (k * (k + 1)));
    if (!needs_none) ++k;
  }
  shares.push_back(k == 1 ? delta : Delta{kRounding * delta.value() / k});
  return shares;
}

}  // namespace

std::vector<Event> events_of(const std::vector<PlannedEvent>& releases) {
  std::vector<Event> events;
  for (const PlannedEvent& release : releases) events.push_back(release.event);
  return events;
}

std::vector<Stage> stages_of(const LedgerRecord& ledger) {
  std::vector<Stage> stages;
  for (const LedgerPlan& plan : ledger.plans)
    stages.push_back({.releases = plan.releases, .is_planned = true, .time = plan.time});
  if (ledger.is_planned()) return stages;
  Stage all{.releases = {}, .is_planned = false, .time = ledger.opened};
  for (const Event& event : ledger.spent()) all.releases.push_back({"spent", event});
  return {all};
}

std::vector<StageCost> costs_of(const std::vector<Stage>& stages, Delta delta,
                                const Accounting& how) {
  if (stages.empty()) return {};
  const std::vector<Delta> shares = shares_of(stages, delta);
  std::vector<StageCost> costs;
  for (std::size_t i = 0; i < stages.size(); ++i)
    costs.push_back(
        {.epsilon = account(privacy::events_of(stages[i].releases), shares[i], how).epsilon,
         .delta = shares[i].value()});
  return costs;
}

double sum_of(const std::vector<StageCost>& costs) {
  double sum = 0;
  for (const StageCost& cost : costs)
    sum = sum == 0 || cost.epsilon == 0
              ? sum + cost.epsilon
              : std::nextafter(sum + cost.epsilon, std::numeric_limits<double>::infinity());
  return sum;
}

StagedGuarantee account_stages(const std::vector<Stage>& stages, Delta delta,
                               const Accounting& how) {
  std::vector<Event> all;
  for (const Stage& stage : stages)
    for (const PlannedEvent& release : stage.releases) all.push_back(release.event);
  StagedGuarantee result{.total = account(all, delta, how), .stages = {}};
  if (stages.size() <= 1) {
    result.stages = {{.epsilon = result.total.epsilon, .delta = delta.value()}};
    return result;
  }
  result.stages = costs_of(stages, delta, how);
  result.total.epsilon = sum_of(result.stages);
  result.total.order.reset();
  return result;
}

std::int64_t certified_count(const LedgerRecord& ledger, std::string_view purpose) {
  std::int64_t count = 0;
  if (ledger.is_planned()) {
    for (const PlannedUse& use : ledger.schedule)
      if (use.planned.purpose == purpose) count += count_of(use.planned.event);
    return count;
  }
  for (const LedgerEntry& entry : ledger.entries)
    if (entry.purpose == purpose && entry.event)
      count += entry.used.value_or(count_of(*entry.event));
  return count;
}

}  // namespace obol::privacy
