// What a curator hands over of a run, and nothing else: the generator and the teacher that labels
// its images, samples, the certificate with its ledger, a report, a data card, sums of them all,
// and a signature where there is a key.
//
//   write_release({.run = "runs/a", .out = "release", .sign = "key.pem"}, use);
//   ReleaseCheck found = verify_release("release", "curator.pem");   // VerificationFailed
//
// Nothing of RUN/private is read. Where the private data are does not go into it; the title and the
// summary of the recipe do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "obol/base/file.h"
#include "obol/privacy/certificate.h"

namespace obol::report {

struct ReleaseOptions {
  Path run;
  Path out;                          // a folder that appears whole, or not at all
  std::optional<std::int64_t> seed;  // that samples are drawn with, for the data card
  std::optional<Path> sign;          // an Ed25519 private key
};

// What is made with the generator, and needs LibTorch.
struct MadeFiles {
  Path samples;  // NPZ
  Path script;   // TorchScript, for PyTorch
};
// `folder` has the recipe, the generator, and the teacher where there is one, like that of a run.
using UseGenerator = std::function<void(const Path& folder, const MadeFiles& made)>;

// InvalidArgument where the run has no certificate yet, or no guarantee at all; DataError where it
// has no generator.
void write_release(const ReleaseOptions& options, const UseGenerator& use);

// Whether the folder is a release, or what somebody left of one.
bool is_release(const Path& folder);

enum class Signer {
  kNobody,
  kKeyInside,  // whose key that is, nobody knows
  kGivenKey,
};

struct ReleaseCheck {
  std::size_t files;  // whose sums are right
  Signer signer;
  bool has_script;  // generator.pt, of which the sum is all that was checked
  privacy::Certificate certificate;
};

// VerificationFailed names the first file that is missing, changed, or not listed; and where `key`
// is given, the signature must be of that public key. The generator must be numbers and shapes that
// fit each other, and the teacher must fit the generator. The folder may come from anyone.
ReleaseCheck verify_release(const Path& folder, const std::optional<Path>& key);

}  // namespace obol::report
