// A run folder: everything that one training leaves behind, under names that are fixed here.
//
//   RunFolder folder = RunFolder::create("runs/a", recipe.resolved(), ledger_header);
//   RunFolder folder = RunFolder::resume("runs/a", recipe.resolved());   // goes on with it
//   RunFolder folder = RunFolder::open("runs/a");                        // only reads
//
// A new folder appears with its recipe and its ledger, or not at all. Whoever creates or resumes
// one has it locked, so that two trainings never share it.
//
// A folder may come from anyone: no link in it is followed.
//
// Everything in it may be handed over, except for private/: what is there depends on the private
// data outside any guarantee. Certificate and release never read it, and a report only to show it
// in a box that is marked so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "obol/base/file.h"
#include "obol/data/private.h"
#include "obol/privacy/certificate.h"
#include "obol/privacy/disclosures.h"
#include "obol/privacy/ledger.h"
#include "obol/run/append_file.h"

namespace obol::run {

// Names that releases have as well.
inline constexpr const char* kRecipeName = "recipe.toml";
inline constexpr const char* kEvaluationName = "evaluation.json";
inline constexpr const char* kReportName = "report.html";
// The trained generator.
inline constexpr const char* kGeneratorName = "generator.safetensors";
// A classifier that labels what the generator makes, where the method has one.
inline constexpr const char* kTeacherName = "teacher.safetensors";
// TorchScript: an export for PyTorch, which Obol never opens. Earlier versions wrote only this one.
inline constexpr const char* kScriptName = "generator.pt";

class RunFolder {
 public:
  // Among the `secrets` of a run that is trained on data of this machine.
  static constexpr const char* kOwnKeyName = "fingerprint.key";

  // `recipe` is the resolved one. A run without a ledger header has no ledger: it is not private.
  // `secrets`, by name, are files that private/ has from the start.
  static RunFolder create(const Path& path, std::string_view recipe,
                          const std::optional<privacy::LedgerHeader>& header,
                          const std::map<std::string, std::string>& secrets = {});
  // InvalidArgument, with the first difference, where the recipe is not that of the run. Files that
  // a killed process left half written are removed.
  static RunFolder resume(const Path& path, std::string_view recipe);
  // Without a lock.
  static RunFolder open(const Path& path);
  // Whether there is a run at `path`.
  static bool is_run(const Path& path);

  [[nodiscard]] const Path& path() const noexcept { return path_; }
  [[nodiscard]] std::string recipe() const;
  [[nodiscard]] std::string recipe_hash() const;  // SHA-256, in hexadecimal digits
  [[nodiscard]] Path ledger() const { return path_ / privacy::kLedgerName; }
  [[nodiscard]] Path certificate() const { return path_ / privacy::kCertificateName; }
  [[nodiscard]] Path metrics() const { return path_ / "metrics.jsonl"; }
  [[nodiscard]] Path tensorboard() const { return path_ / "tensorboard"; }
  [[nodiscard]] Path samples() const { return path_ / "samples"; }
  [[nodiscard]] Path sample(std::int64_t step) const;  // samples/000100.png
  [[nodiscard]] Path generator() const { return path_ / kGeneratorName; }
  [[nodiscard]] Path teacher() const { return path_ / kTeacherName; }
  [[nodiscard]] Path outcome() const { return path_ / kOutcomeName; }
  [[nodiscard]] Path evaluation() const { return path_ / kEvaluationName; }
  [[nodiscard]] Path report() const { return path_ / kReportName; }
  // Moments of the real images under the network of that name, kept: they take long.
  [[nodiscard]] Path real_moments(const std::string& network) const;
  [[nodiscard]] Path disclosures() const { return path_ / privacy::kDisclosuresName; }
  [[nodiscard]] Path checkpoint() const { return path_ / "checkpoint.pt"; }
  [[nodiscard]] Path diagnostics() const { return private_folder() / "diagnostics.jsonl"; }
  // What was evaluated with private records, and a picture of pairs that belongs to it.
  [[nodiscard]] Path private_evaluation() const { return private_folder() / kEvaluationName; }
  [[nodiscard]] Path closest_pairs() const { return private_folder() / "closest_pairs.png"; }

  // DataError where there is no generator, with a word on how to convert that of an earlier
  // version.
  void require_generator() const;
  // Whether a file or a link has the name of a teacher; reading refuses a link.
  [[nodiscard]] bool has_teacher() const;
  // Whether this user trained it: the key that its data's fingerprint was made with is in private/,
  // which is never handed over. What its recipe names is opened for those runs alone.
  [[nodiscard]] bool is_own() const;

  // private/, made if need be, with a README that says what it is; for the owner's eyes only.
  Path make_private() const;

  // Certificate and outcome of an earlier training in it.
  void remove_results() const;
  // Pictures of steps that a resumed run has not taken.
  void remove_samples_after(std::int64_t step) const;

 private:
  RunFolder(Path path, std::shared_ptr<void> lock);
  static constexpr const char* kOutcomeName = "outcome.json";
  [[nodiscard]] Path private_folder() const { return path_ / "private"; }

  Path path_;
  std::shared_ptr<void> lock_;  // held as long as this is
};

// Keeps the reasons in disclosures.jsonl, on disk before the value is looked at; what one object
// was told before, it does not write again.
class Disclosures final : public DisclosureLog {
 public:
  explicit Disclosures(const RunFolder& folder) : path_(folder.disclosures()) {}
  void record(std::string_view reason) override;

 private:
  Path path_;
  std::set<std::string, std::less<>> recorded_;
};

}  // namespace obol::run
