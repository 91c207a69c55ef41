#include "obol/run/meter.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

namespace obol::run {
namespace {

// Whether every event is among `more`, at least as often.
bool covers(const std::vector<privacy::Event>& more, const std::vector<privacy::Event>& events) {
  return std::all_of(events.begin(), events.end(), [&](const privacy::Event& event) {
    return std::any_of(more.begin(), more.end(), [&](const privacy::Event& one) {
      return privacy::same_mechanism(one, event) &&
             privacy::count_of(one) >= privacy::count_of(event);
    });
  });
}

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

EpsilonMeter::EpsilonMeter(const privacy::Ledger& ledger, Delta delta,
                           const privacy::Accounting& how, std::function<double()> clock)
    : ledger_(ledger), delta_(delta), how_(how), clock_(std::move(clock)) {}

std::optional<double> EpsilonMeter::read() {
  constexpr double kPause = 50;  // times what a computation took: 2% of the time at most
  const privacy::LedgerRecord& record = ledger_.record();
  // With a plan, only another plan changes it.
  const std::size_t lines = record.is_planned() ? record.plans.size() : record.hashes.size();
  if (epsilon_ && lines == lines_) return epsilon_;
  const double start = clock_();
  if (epsilon_ && start < next_) return std::nullopt;
  epsilon_ = privacy::account_stages(privacy::stages_of(record), delta_, how_).total.epsilon;
  lines_ = lines;
  const double end = clock_();
  next_ = end + kPause * (end - start);
  return epsilon_;
}

double EpsilonMeter::bound() {
  if (const auto exact = read()) return *exact;
  const std::size_t lines = ledger_.record().hashes.size();
  if (lines == bound_lines_) return bound_;
  const std::vector<privacy::Event> spent = ledger_.spent();
  if (!covers(ahead_, spent)) {
    ahead_.clear();
    for (const privacy::Event& event : spent) {
      const std::int64_t count = privacy::count_of(event);
      ahead_.push_back(privacy::with_count(event, count + count / 20 + 1));
    }
    bound_ = privacy::account(ahead_, delta_, how_).epsilon;
  }
  bound_lines_ = lines;
  return bound_;
}

}  // namespace obol::run
