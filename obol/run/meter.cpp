#include "obol/run/meter.h"

#include <chrono>
#include <utility>

namespace obol::run {

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

}  // namespace obol::run
