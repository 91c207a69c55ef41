// What a ledger certifies, where people choose what to release next by looking at what was released
// before.
//
//   StagedGuarantee found = account_stages(stages_of(record), Delta{1e-5});
//   found.total.epsilon       // holds for everything that was released
//
// A stage is a plan: a list of releases that was fixed before the first of them. The accountants
// compose inside a stage, whose parameters are fixed; the stage counts as a whole, even where the
// run ended before all of it was released. Over stages, which are chosen by looking at earlier
// ones, epsilons and deltas add up. docs/guarantees/adaptivity.md has the proofs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "obol/privacy/accountant.h"
#include "obol/privacy/ledger.h"

namespace obol::privacy {

struct Stage {
  std::vector<PlannedEvent> releases;
  bool is_planned;  // false: what was spent in a ledger that has no plan
  std::string time;
};

struct StageCost {
  double epsilon;
  double delta;  // its share
};

struct StagedGuarantee {
  // With several stages, epsilon_lower is that of all releases as one stage: nothing below it holds
  // even for somebody who chose everything before.
  Guarantee total;
  std::vector<StageCost> stages;
};

// At least one: without a plan, all that was spent.
std::vector<Stage> stages_of(const LedgerRecord& ledger);

// In the order in which they were planned. An epsilon for each, at its share of delta, and their
// sum.
std::vector<StageCost> costs_of(const std::vector<Stage>& stages, Delta delta,
                                const Accounting& how = {});
double sum_of(const std::vector<StageCost>& costs);

StagedGuarantee account_stages(const std::vector<Stage>& stages, Delta delta,
                               const Accounting& how = {});

std::vector<Event> events_of(const std::vector<PlannedEvent>& releases);

// Releases for `purpose` that the certificate of the ledger is about.
std::int64_t certified_count(const LedgerRecord& ledger, std::string_view purpose);

}  // namespace obol::privacy
