// Certificates of runs and of privatised records, with the published count that belongs to them.
//
//   privacy::Certificate certificate = verify_certificate("runs/a");
#pragma once

#include <vector>

#include "obol/base/file.h"
#include "obol/privacy/certificate.h"

namespace obol::method {

// The counts that a certificate in this folder may show: that of the plan which its recipe.toml
// gives, or, for privatised records, those that follow from the ledger.
std::vector<privacy::PublishedCount> published_counts(const Path& run,
                                                      const privacy::LedgerRecord& ledger);

// As in obol/privacy/certificate.h, by these counts.
privacy::CertificateTerms read_terms(const Path& run);
privacy::Certificate verify_certificate(const Path& run);

}  // namespace obol::method
