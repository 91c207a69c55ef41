#include "obol/privacy/guard.h"

#include <algorithm>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/text.h"

namespace obol::privacy {
namespace {

bool equal(const std::vector<Event>& first, const std::vector<Event>& second) {
  return std::equal(first.begin(), first.end(), second.begin(), second.end(),
                    [](const Event& a, const Event& b) {
                      return same_mechanism(a, b) && count_of(a) == count_of(b);
                    });
}

void require_within(const Budget& budget, const std::vector<Stage>& stages, const Accounting& how) {
  const double epsilon = sum_of(costs_of(stages, budget.delta, how));
  if (epsilon <= budget.epsilon.value()) return;
  const PlannedEvent& first = stages.back().releases.front();
  throw BudgetExceeded(fmt::format(
      "epsilon must be at most {} at delta {}, but {} for {} would make it {}{}; it did not happen",
      budget.epsilon.value(), budget.delta.value(), describe(first.event), first.purpose,
      rounded_up(epsilon), stages.size() > 1 ? ", with what was planned before" : ""));
}

}  // namespace

BudgetGuard::BudgetGuard(Ledger& ledger, const std::optional<Budget>& budget,
                         const GuardOptions& options)
    : ledger_(ledger), budget_(budget), options_(options) {
  if (options.block < 1)
    throw InvalidArgument(violation("the block of a guard", "at least 1", options.block));
}

void BudgetGuard::plan(const std::vector<PlannedEvent>& releases) {
  std::vector<Stage> stages;
  if (ledger_.record().is_planned()) stages = stages_of(ledger_.record());
  stages.push_back({.releases = releases, .is_planned = true, .time = utc_now()});
  if (budget_) require_within(*budget_, stages, options_.accounting);
  if (options_.before_plan) options_.before_plan(stages);
  ledger_.plan(releases);
}

std::int64_t BudgetGuard::unreserved(std::string_view purpose, const Event& event) {
  const LedgerRecord& record = ledger_.record();
  return record.is_planned() ? record.left(purpose, event) : within_budget(event);
}

std::int64_t BudgetGuard::within_budget(const Event& event) {
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (!budget_) return kMost;
  std::vector<Event> others;
  std::int64_t spent = 0;
  for (const Event& before : ledger_.spent())
    if (same_mechanism(before, event))
      spent += count_of(before);
    else
      others.push_back(before);
  if (!limit_ || !same_mechanism(limit_->event, event) || !equal(limit_->others, others)) {
    const auto with_steps = [&](std::int64_t steps) {
      std::vector<Event> all = others;
      all.push_back(with_count(event, steps));
      return all;
    };
    limit_ = Limit{.event = event,
                   .others = others,
                   .most = most_steps(*budget_, with_steps, kMost, options_.accounting)};
  }
  return std::max<std::int64_t>(0, limit_->most - spent);
}

std::int64_t BudgetGuard::affordable(const Event& event) {
  std::int64_t reserved = 0;
  for (const Open& open : open_)
    if (same_mechanism(open.event, event)) reserved += open.reservation.left();
  if (!ledger_.record().is_planned()) return reserved + within_budget(event);
  for (const PlannedUse& use : ledger_.record().schedule)
    if (same_mechanism(use.planned.event, event)) reserved += use.left();
  return reserved;
}

void BudgetGuard::pay(std::string_view purpose, const Event& event) {
  const Event one = with_count(event, 1);
  auto open = std::find_if(open_.begin(), open_.end(), [&](const Open& candidate) {
    return candidate.purpose == purpose && same_mechanism(candidate.event, one);
  });
  if (open == open_.end())
    open = open_.insert(open_.end(),
                        {.purpose = std::string(purpose), .event = one, .reservation = {}});
  if (open->reservation.left() == 0) open->reservation = reserve(purpose, one, options_.block);
  open->reservation.take();
}

void BudgetGuard::pay_once(std::string_view purpose, const Event& event) {
  reserve(purpose, with_count(event, 1), 1).take();
}

Reservation BudgetGuard::reserve(std::string_view purpose, const Event& one, std::int64_t count) {
  const std::int64_t fits = std::min(count, unreserved(purpose, one));
  if (fits == 0 && ledger_.record().is_planned())
    throw BudgetExceeded(fmt::format(
        "a release for {} must be within what was planned before the first, but nothing "
        "is left there of {}; it did not happen",
        purpose, describe(one)));
  if (fits == 0)
    throw BudgetExceeded(
        fmt::format("epsilon must be at most {} at delta {}, but {} for {} would exceed it; it "
                    "did not happen",
                    budget_->epsilon.value(), budget_->delta.value(), describe(one), purpose));
  return ledger_.reserve(purpose, with_count(one, fits));
}

void BudgetGuard::settle() {
  for (Open& open : open_)
    if (open.reservation.left() > 0) open.reservation.settle();
  open_.clear();
}

}  // namespace obol::privacy
