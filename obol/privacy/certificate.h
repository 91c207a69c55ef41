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
#include "obol/privacy/stages.h"

namespace obol::privacy {

inline constexpr const char* kLedgerName = "ledger.jsonl";
inline constexpr const char* kCertificateName = "certificate.json";
inline constexpr const char* kCertificateTextName = "certificate.md";

// How the paper whose recipe was followed counts: every release for `purpose` as `per_release`, by
// Renyi divergences and the classic conversion; a local release by its formula, in which the
// paper's sensitivity is the radius. Shown beside the guarantee.
struct PublishedCount {
  std::string paper;
  std::string purpose;
  Event per_release;
  std::int64_t outputs_per_step;  // that are counted one by one, though they share a subsample
  bool holds;                     // a sound count, only less tight
};

// What the ledger does not know.
struct CertificateTerms {
  Delta delta;
  Accounting accounting = {};
  std::optional<PublishedCount> published;
  std::vector<std::string> not_covered;  // beyond what never is
};

struct PublishedEpsilon {
  PublishedCount count;
  std::int64_t releases;
  double epsilon;
};

struct Certificate {
  Guarantee guarantee;
  std::vector<StageCost> stages;  // of stages_of(ledger)
  std::optional<PublishedEpsilon> published;
  LedgerRecord ledger;
  std::string version;  // of the program that accounted
  std::string commit;
  std::vector<std::string> not_covered;

  // Noise and samples from a fixed seed protect nobody.
  [[nodiscard]] bool is_private() const;
};

Certificate certify(const LedgerRecord& ledger, const CertificateTerms& terms);

PublishedEpsilon account_as_published(const PublishedCount& count, std::int64_t releases,
                                      Delta delta);

// For anyone: "Had any one record been left out, or added, whatever was released from this run
// would have been at most e^10 times as likely, ...".
std::string in_words(const Guarantee& guarantee);

// For a review board: what the published number is, and why it is none to rely on.
std::string in_words(const PublishedEpsilon& published, double guarantee);

std::string to_json(const Certificate& certificate);
std::string to_markdown(const Certificate& certificate);

// What a certificate says of itself; DataError where it is none.
CertificateTerms read_terms(const Path& run);

void write_certificate(const Path& run, const CertificateTerms& terms);

// Recomputes everything from the ledger. VerificationFailed names the first difference. Epsilons
// may differ by 1e-6 relative (processors and mathematical libraries do); nothing else may differ.
Certificate verify_certificate(const Path& run);

}  // namespace obol::privacy
