// A data set, privatised record by record, with its certificate: `obol privatize`.
//
//   const auto records = data::stream("mnist");
//   privatize(*records, options, {.path = "private.npz"});
//   // private.npz, and private-certificate/ with ledger.jsonl, certificate.json, certificate.md
//
// No more than a few blocks of records are in memory at once, whatever their number (and all
// labels, where they are kept).
#pragma once

#include <cstdint>
#include <optional>

#include "obol/base/file.h"
#include "obol/data/record_stream.h"
#include "obol/local/mechanism.h"
#include "obol/local/privatized.h"
#include "obol/privacy/certificate.h"

namespace obol::local {

struct PrivatizeOutput {
  Path path;                          // must be new, and so must be the certificate's folder
  std::optional<std::int64_t> count;  // the first so many records; for experiments
  std::optional<std::uint64_t> seed;  // not private; for experiments
};

struct PrivatizeOutcome {
  Privatization how;
  std::int64_t records;
  Path certificate_folder;
  privacy::Certificate certificate;
};

// "a/private.npz" -> "a/private-certificate"
Path certificate_folder_of(const Path& path);

// Whether the records have a certificate in that folder. DataError or VerificationFailed where it
// is not true, or not about these records.
bool check_certificate(const Privatized& data, const Path& folder);

// The certificate appears first; where the records then do not, it goes again.
PrivatizeOutcome privatize(data::RecordStream& records, const PrivatizeOptions& options,
                           const PrivatizeOutput& output);

}  // namespace obol::local
