// How the paper on local privacy counts the release of privatised records, whose formulas take the
// radius of the ball for the sensitivity.
#pragma once

#include <vector>

#include "obol/base/file.h"
#include "obol/privacy/published.h"

namespace obol::local {

// Of privatised records, whose sensitivity is so many radii.
privacy::PublishedCount published_locally(const privacy::Event& records, double radii);

// The counts that a certificate of privatised records may show: a sensitivity is 2 or sqrt(2)
// radii. None where the ledger has no records.
std::vector<privacy::PublishedCount> published_counts(const Path& folder,
                                                      const privacy::LedgerRecord& ledger);

}  // namespace obol::local
