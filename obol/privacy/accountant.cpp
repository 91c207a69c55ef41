#include "obol/privacy/accountant.h"

#include <algorithm>

#include "obol/base/error.h"
#include "obol/privacy/pld.h"

namespace obol::privacy {
namespace {

Guarantee account_by_rdp(const std::vector<Event>& events, Delta delta, const Accounting& how) {
  if (how.group_size > 1)
    throw UnsupportedEvent(
        "the Renyi accountant must be asked for single records, but was asked for a group; the pld "
        "accountant composes groups, of sampled and unsampled Gaussian noise and of Laplace noise");
  RdpAccountant accountant;
  for (const Event& event : events) accountant.compose(event);
  const RdpEpsilon result = accountant.epsilon(delta, how.conversion);
  return {.epsilon = result.epsilon,
          .epsilon_lower = 0,
          .delta = delta.value(),
          .neighbours = neighbours_of(events),
          .accountant = AccountantKind::kRdp,
          .order = result.order,
          .group_size = 1};
}

Guarantee account_by_pld(const std::vector<Event>& events, Delta delta, const Accounting& how) {
  PldAccountant accountant(how.group_size);
  for (const Event& event : events) accountant.compose(event);
  const EpsilonBounds bounds = accountant.epsilon(delta);
  return {.epsilon = bounds.upper,
          .epsilon_lower = bounds.lower,
          .delta = delta.value(),
          .neighbours = neighbours_of(events),
          .accountant = AccountantKind::kPld,
          .order = std::nullopt,
          .group_size = how.group_size};
}

// The noise of the program is that of real numbers at every outcome but for a factor: the program
// is (epsilon + 2k, e^k delta)-private where the mechanism is (epsilon, delta)-private, with 2k
// below 4e-9 for 2^35 values (docs/guarantees/noise.md).
constexpr double kNoiseInEpsilon = 4e-9;
constexpr double kNoiseInDelta = 1e-8;  // relative
constexpr double kNoiseInLower = 1e-7;

bool has_noise(const Event& event) {
  return count_of(event) > 0 && !std::holds_alternative<LocalRandomizedResponse>(event);
}

}  // namespace

std::string_view name_of(AccountantKind kind) {
  switch (kind) {
    case AccountantKind::kPld:
      return "pld";
    case AccountantKind::kRdp:
      return "rdp";
    case AccountantKind::kTightest:
      break;
  }
  return "tightest";
}

AccountantKind accountant_from(std::string_view name) {
  for (const auto kind : {AccountantKind::kTightest, AccountantKind::kPld, AccountantKind::kRdp})
    if (name_of(kind) == name) return kind;
  throw InvalidArgument(violation("the accountant", "pld, rdp or tightest", name));
}

Guarantee account(const std::vector<Event>& events, Delta delta, const Accounting& how) {
  const bool has_fixed_batches = std::any_of(events.begin(), events.end(), [](const Event& event) {
    return std::holds_alternative<FixedBatchGaussian>(event);
  });
  const bool by_rdp = how.kind == AccountantKind::kRdp ||
                      (how.kind == AccountantKind::kTightest && has_fixed_batches);
  const auto of = by_rdp ? account_by_rdp : account_by_pld;
  // The classic conversion is the papers' arithmetic, shown beside what is guaranteed.
  const bool is_published = by_rdp && how.conversion == Conversion::kClassic;
  if (is_published || std::none_of(events.begin(), events.end(), has_noise))
    return of(events, delta, how);
  Guarantee guarantee = of(events, Delta{delta.value() * (1 - kNoiseInDelta)}, how);
  guarantee.epsilon += kNoiseInEpsilon;
  // The lower bound is about the mechanism itself, whose epsilon is less at the whole delta.
  guarantee.epsilon_lower =
      std::max(0.0, guarantee.epsilon_lower - kNoiseInLower * (1 + guarantee.epsilon_lower));
  guarantee.delta = delta.value();
  return guarantee;
}

Neighbours neighbours_of(const std::vector<Event>& events) {
  Neighbours result = Neighbours::kAsStated;
  for (const Event& event : events) result = common_neighbours(result, neighbours_of(event));
  return result;
}

}  // namespace obol::privacy
