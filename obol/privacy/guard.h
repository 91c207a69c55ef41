// Asked before every release, the guard lets it pass only if it is paid for and within the budget.
//
//   BudgetGuard guard(ledger, budget, {.block = 100});
//   guard.plan({{"training", with_count(step, 20'000)}});   // throws BudgetExceeded instead
//   guard.pay("training", step);     // before the step; throws BudgetExceeded instead of the step
//   guard.settle();                  // on a clean stop: what was reserved ahead and not used
//
// Guarantee: when pay returns, the ledger on disk has this release, and what the ledger certifies
// (stages.h) is within the budget. Never one step late. With a plan the budget is checked when the
// plan is made, and what is paid must be within the plan; a ledger without one is checked at every
// reservation.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "obol/privacy/calibrate.h"
#include "obol/privacy/ledger.h"
#include "obol/privacy/stages.h"

namespace obol::privacy {

struct GuardOptions {
  std::int64_t block = 100;  // releases that are reserved at once; what a crash may over-count
  Accounting accounting = {};
  // Told what all plans will be, before a new one is written.
  std::function<void(const std::vector<Stage>& stages)> before_plan = {};
};

class BudgetGuard {
 public:
  // `ledger` must outlive this. Without a budget everything is recorded and nothing refused.
  BudgetGuard(Ledger& ledger, const std::optional<Budget>& budget,
              const GuardOptions& options = {});

  // Fixes what may be released from now on, besides what earlier plans have left. BudgetExceeded,
  // and nothing is written, where all plans together would exceed the budget.
  void plan(const std::vector<PlannedEvent>& releases);

  // One release of the event (its count is not looked at).
  void pay(std::string_view purpose, const Event& event);

  // The same for a release that will not be repeated: nothing is reserved ahead.
  void pay_once(std::string_view purpose, const Event& event);

  // How many more of them fit, for whatever purpose, those that are reserved already included.
  [[nodiscard]] std::int64_t affordable(const Event& event);

  // To be called on a clean stop; without it, reservations count as spent.
  void settle();

 private:
  struct Open {
    std::string purpose;
    Event event;  // count 1
    Reservation reservation;
  };
  // The most of `event` that fits beside everything else in the ledger, which rarely changes.
  struct Limit {
    Event event;
    std::vector<Event> others;
    std::int64_t most;
  };

  [[nodiscard]] std::int64_t unreserved(std::string_view purpose, const Event& event);
  [[nodiscard]] std::int64_t within_budget(const Event& event);
  // At most `count` of them; BudgetExceeded where not one fits.
  Reservation reserve(std::string_view purpose, const Event& one, std::int64_t count);

  Ledger& ledger_;
  std::optional<Budget> budget_;
  GuardOptions options_;
  std::vector<Open> open_;
  std::optional<Limit> limit_;
};

}  // namespace obol::privacy
