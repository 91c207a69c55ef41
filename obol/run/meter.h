// Epsilon while a run goes on, at a bounded share of its time: accounting takes from milliseconds
// to seconds, and a step may be faster.
//
//   EpsilonMeter meter(ledger, Delta{1e-5});
//   if (const auto epsilon = meter.read()) ...   // exact for the ledger as it is, or nothing
//   meter.bound()                                // never less than that
//
// It is what a certificate would say: of the whole plan, where there is one. Without a plan, what
// is reserved ahead counts, so that the number is never too small.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "obol/base/types.h"
#include "obol/privacy/accountant.h"
#include "obol/privacy/ledger.h"
#include "obol/privacy/stages.h"

namespace obol::run {

double steady_seconds();

class EpsilonMeter {
 public:
  // `ledger` must outlive this. Tests bring a clock of their own.
  EpsilonMeter(const privacy::Ledger& ledger, Delta delta, const privacy::Accounting& how = {},
               std::function<double()> clock = steady_seconds);

  // Nothing where the last number is out of date and it is too early for the next.
  std::optional<double> read();
  // What read() gives, or else what the ledger would cost with up to a twentieth more of each event
  // in it: computed again only when the ledger has grown beyond that.
  double bound();

 private:
  const privacy::Ledger& ledger_;
  Delta delta_;
  privacy::Accounting how_;
  std::function<double()> clock_;
  std::optional<double> epsilon_;
  std::size_t lines_ = 0;  // of the ledger, or plans in it, when epsilon_ was computed
  double next_ = 0;
  std::vector<privacy::Event> ahead_;
  double bound_ = 0;  // of ahead_
  std::size_t bound_lines_ = 0;
};

}  // namespace obol::run
