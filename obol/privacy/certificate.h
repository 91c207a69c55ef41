// What a run spent, in a form to hand over: certificate.json for programs, certificate.md for
// people, both made from the ledger, and checked against it by whoever doubts them.
//
//   write_certificate("runs/a", {.delta = Delta{1e-5}});   // reads runs/a/ledger.jsonl
//   verify_certificate("runs/a");                          // recomputes; VerificationFailed
//
// The certificate pins the ledger's head, so that lines cannot be taken off its end unnoticed. It
// does not prove who wrote it: sign the file for that.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/privacy/accountant.h"
#include "obol/privacy/ledger.h"
#include "obol/privacy/published.h"
#include "obol/privacy/stages.h"

namespace obol::privacy {

inline constexpr const char* kLedgerName = "ledger.jsonl";
inline constexpr const char* kCertificateName = "certificate.json";
inline constexpr const char* kCertificateTextName = "certificate.md";

// What the ledger does not know.
struct CertificateTerms {
  Delta delta;
  Accounting accounting = {};
  std::optional<PublishedCount> published;
  std::vector<std::string> not_covered;  // beyond what never is
};

struct Certificate {
  Guarantee guarantee;
  std::vector<StageCost> stages;  // of stages_of(ledger)
  std::optional<PublishedEpsilon> published;
  LedgerRecord ledger;
  std::string version;  // of the program that accounted
  std::string commit;
  std::vector<std::string> not_covered;

  // Noise and samples from a fixed seed protect nobody, and neither do records that are marked as
  // not private.
  [[nodiscard]] bool is_private() const;
};

Certificate certify(const LedgerRecord& ledger, const CertificateTerms& terms);

// For anyone: "Had any one record been left out, or added, whatever was released from this run
// would have been at most e^10 times as likely, ...".
std::string in_words(const Guarantee& guarantee);

std::string to_json(const Certificate& certificate);
std::string to_markdown(const Certificate& certificate);

// What a certificate says of itself; DataError where it is none. A published count that is not
// among `counts` of the folder is left out.
CertificateTerms read_terms(const Path& run, const PublishedCounts& counts = {});

// Lists what was disclosed in that folder as not covered, beside what the terms have.
void write_certificate(const Path& run, const CertificateTerms& terms);

// Recomputes everything from the ledger, and the published count from what `counts` derives:
// without it, a certificate with such a count is refused.
// VerificationFailed names the first difference. Processors and mathematical libraries differ in
// rounding: an epsilon may be larger than the one that is recomputed by 1e-6 of it, and less by
// 1e-9 of it. Nothing else may differ, but the order of a Renyi divergence, by 1e-6 of it.
Certificate verify_certificate(const Path& run, const PublishedCounts& counts = {});

}  // namespace obol::privacy
