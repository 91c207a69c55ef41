// What every data set has cost on this machine: one file for each, in a folder of the user's own.
//
//   std::optional<Registry> registry = Registry::open();       // $OBOL_LEDGERS, or in the home
//   folder const std::string data = fingerprint(records, registry->key()); registry->uses(data) //
//   by earlier runs, deleted ones too registry->record(data, use_of("runs/a", ledger, delta));   //
//   before the ledger has the plan
//
// A use is a copy of what a ledger certifies, written before the ledger's plan is, so that a run
// counts even when its folder is gone. It also keeps the ledger's head, so that a copied run folder
// which is gone on with in both places is recognised. Runs whose noise has a fixed seed are left
// out by callers: they protect nobody.
//
// The registry is an aid on one machine. No certificate relies on it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/privacy/ledger.h"
#include "obol/privacy/stages.h"

namespace obol::privacy {

struct Use {
  std::string id;    // of the ledger: the hash of its first line
  std::string time;  // UTC, of the first record of it
  Path folder;       // absolute
  Neighbours neighbours;
  double delta;
  LedgerHead head;
  std::vector<Stage> stages;
};

// `stages` as they will be.
Use use_of(const Path& folder, const LedgerRecord& ledger, const std::vector<Stage>& stages,
           Delta delta);

class Registry {
 public:
  // Nothing, with a warning, where there is no place for it.
  static std::optional<Registry> open();
  // Made where it is missing, with its key; for the owner's eyes only. DataError where it cannot.
  explicit Registry(const Path& folder);

  // For fingerprints of data: the same for all runs on this machine, and secret.
  [[nodiscard]] std::span<const std::byte> key() const { return key_; }

  // Of each ledger the last record, in order of the first ones. DataError on a damaged file.
  [[nodiscard]] std::vector<Use> uses(const std::string& fingerprint) const;

  // On disk when it returns. A record of the same ledger takes the place of earlier ones.
  void record(const std::string& fingerprint, const Use& use) const;

  // DataError where the ledger is a copy of one that was gone on with elsewhere.
  void require_only_copy(const std::string& fingerprint, const Path& folder,
                         const LedgerRecord& ledger) const;

 private:
  [[nodiscard]] Path file_of(const std::string& fingerprint) const;

  Path folder_;
  std::array<std::byte, 32> key_{};
};

// Of one notion of neighbours; epsilons under different ones do not add up.
struct UseTotal {
  Neighbours neighbours;
  std::int64_t runs;
  double epsilon;
  double delta;  // the largest of the runs'
};

// Whichever run was chosen by looking at earlier ones. `ignored` is the id of one to leave out.
std::vector<UseTotal> totals(const std::vector<Use>& uses, const std::string& ignored = {});

// "these data were used by 3 runs before: epsilon at most 12.3 at delta 1e-05 (add-remove)"; empty
// where there are none.
std::string in_words(const std::vector<UseTotal>& totals);

}  // namespace obol::privacy
