#include "obol/privacy/published.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/text.h"
#include "obol/privacy/accountant.h"
#include "obol/privacy/event_json.h"
#include "obol/privacy/gaussian.h"

namespace obol::privacy {
namespace {

bool is_local(const PublishedCount& count) {
  return neighbours_of(count.per_release) == Neighbours::kPerson;
}

// By the formulas of the mechanisms: Zhao et al. for Gaussian noise; pure, and adding up, the rest.
double claimed_locally(const Event& event, Delta delta) {
  const auto* gaussian = std::get_if<LocalGaussian>(&event);
  if (gaussian == nullptr) return account({event}, Delta{0}).epsilon;
  if (gaussian->count == 0) return 0;
  const double together = joint(gaussian->noise_multiplier, static_cast<double>(gaussian->count));
  return zhao_epsilon(together, delta).value();
}

// A sound count is one of the very mechanism that was used.
bool counts(const PublishedCount& count, const PlannedEvent& released) {
  if (released.purpose != count.purpose) return false;
  return !count.holds || same_mechanism(count.per_release, released.event);
}

bool is_close(const nlohmann::json& first, const nlohmann::json& second) {
  constexpr double kRounding = 1e-6;
  const bool are_counts = first.is_number_integer() && second.is_number_integer();
  if (!first.is_number() || !second.is_number() || are_counts) return first == second;
  const double value = first.get<double>();
  return std::abs(value - second.get<double>()) <= kRounding * std::abs(value);
}

bool is_close(const Event& first, const Event& second) {
  const auto a = nlohmann::json::parse(json_of(first));
  const auto b = nlohmann::json::parse(json_of(second));
  if (a.size() != b.size()) return false;
  for (const auto& [key, value] : a.items())
    if (!b.contains(key) || !is_close(value, b.at(key))) return false;
  return true;
}

}  // namespace

std::vector<PlannedEvent> released_in(const LedgerRecord& ledger) {
  constexpr const char* kRecovered = "what was recovered after a crash";
  std::vector<PlannedEvent> released;
  const auto add = [&](const std::string& purpose, const Event& event, std::int64_t count) {
    if (count > 0) released.push_back({purpose, with_count(event, count)});
  };
  for (const LedgerPlan& plan : ledger.plans)
    for (const PlannedEvent& one : plan.releases) add(one.purpose, one.event, count_of(one.event));
  if (ledger.is_planned()) return released;
  for (const LedgerEntry& entry : ledger.entries)
    if (entry.event)
      add(entry.kind == LedgerEntryKind::kReserve ? entry.purpose : kRecovered, *entry.event,
          entry.used.value_or(count_of(*entry.event)));
  if (ledger.torn && ledger.torn->counted)
    add(kRecovered, *ledger.torn->counted, count_of(*ledger.torn->counted));
  return released;
}

PublishedEpsilon account_as_published(const PublishedCount& count,
                                      const std::vector<PlannedEvent>& released, Delta delta) {
  std::int64_t releases = 0;
  std::vector<std::string> left_out;
  for (const PlannedEvent& one : released)
    if (counts(count, one))
      releases += count_of(one.event);
    else if (std::find(left_out.begin(), left_out.end(), one.purpose) == left_out.end())
      left_out.push_back(one.purpose);
  PublishedEpsilon published = account_as_published(count, releases, delta);
  published.left_out = std::move(left_out);
  return published;
}

PublishedEpsilon account_as_published(const PublishedCount& count, std::int64_t releases,
                                      Delta delta) {
  const Event all = with_count(count.per_release, count_of(count.per_release) * releases);
  PublishedEpsilon published{.count = count, .releases = releases, .epsilon = 0, .left_out = {}};
  const Accounting classic{.kind = AccountantKind::kRdp, .conversion = Conversion::kClassic};
  if (is_local(count))
    published.epsilon = claimed_locally(all, delta);
  else if (releases > 0)
    published.epsilon = account({all}, delta, classic).epsilon;
  return published;
}

std::string in_words(const PublishedEpsilon& published, double guarantee) {
  if (published.is_a_guarantee())
    return fmt::format(
        "As published, the count of {} gives epsilon {}, which holds as well: the same releases, "
        "bounded less tightly.",
        published.count.paper, rounded_up(published.epsilon));
  const std::string start = fmt::format("As published, the count of {} gives epsilon {}",
                                        published.count.paper, rounded_up(published.epsilon));
  std::vector<std::string> reasons;
  if (!published.count.holds) reasons.push_back(published.count.reason);
  if (!published.left_out.empty())
    reasons.push_back(
        fmt::format("it leaves out what else was released: {}", join(published.left_out, ", ")));
  return fmt::format("{}. That is not a guarantee: {}. What can be proved is epsilon {}.", start,
                     join(reasons, "; and "), rounded_up(guarantee));
}

bool is_same_count(const PublishedCount& first, const PublishedCount& second) {
  return first.paper == second.paper && first.purpose == second.purpose &&
         first.outputs_per_step == second.outputs_per_step &&
         is_close(first.per_release, second.per_release);
}

}  // namespace obol::privacy
