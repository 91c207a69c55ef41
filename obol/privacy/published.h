// How the paper whose recipe was followed counts, shown beside the guarantee; and whether its
// number is a guarantee as well.
//
//   const PublishedEpsilon published = account_as_published(count, released_in(ledger), delta);
//   published.is_a_guarantee()    // the count is sound, and it leaves nothing out
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/base/types.h"
#include "obol/privacy/event.h"
#include "obol/privacy/ledger.h"

namespace obol::privacy {

// Every release for `purpose` counts as `per_release`, by Renyi divergences and the classic
// conversion; a local release by its formula, in which the paper's sensitivity is the radius.
struct PublishedCount {
  std::string paper;
  std::string purpose;
  Event per_release;
  std::int64_t outputs_per_step;  // that are counted one by one, though they share a subsample
  bool holds;                     // a sound count of these releases, only less tight
  std::string reason = {};        // "it counts ...": why it does not hold, where it does not
};

struct PublishedEpsilon {
  PublishedCount count;
  std::int64_t releases;
  double epsilon;
  std::vector<std::string> left_out;  // what else was released, each purpose once

  // Only where it counts the same releases as the guarantee.
  [[nodiscard]] bool is_a_guarantee() const { return count.holds && left_out.empty(); }
};

// Everything that a ledger certifies: what was planned; without a plan, what was spent.
std::vector<PlannedEvent> released_in(const LedgerRecord& ledger);

PublishedEpsilon account_as_published(const PublishedCount& count,
                                      const std::vector<PlannedEvent>& released, Delta delta);
// So many releases for its purpose, and nothing else.
PublishedEpsilon account_as_published(const PublishedCount& count, std::int64_t releases,
                                      Delta delta);

// For a review board: what the published number is, and why it is none to rely on.
std::string in_words(const PublishedEpsilon& published, double guarantee);

// Derives the counts that a certificate in this folder may show, from the recipe and the ledger
// beside it and never from the certificate. None where there is nothing to derive one from. What
// was trained, and by which paper's recipe, is known above this module (obol/method, obol/local).
using PublishedCounts =
    std::function<std::vector<PublishedCount>(const Path& run, const LedgerRecord& ledger)>;

// Whether the two are alike up to the rounding of a calibration (1e-6 of a number). What `holds`
// and `reason` say is not looked at.
bool is_same_count(const PublishedCount& first, const PublishedCount& second);

}  // namespace obol::privacy
