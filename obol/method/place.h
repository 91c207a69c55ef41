// Where a training writes: a run folder and, where something is to be paid for, its ledger. The
// client of a federated training opens its folder here as well.
//
//   Place place = take_place({.folder = "runs/a", .recipe = resolved, .neighbours = ...}, data);
//   privacy::BudgetGuard guard = guard_of(place, budget, delta, 100);
//   barrier::Door door(guard, *place.bits);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/privacy/guard.h"
#include "obol/privacy/ledger.h"
#include "obol/privacy/registry.h"
#include "obol/run/folder.h"

namespace obol::method {

struct PlaceOptions {
  Path folder;
  bool resume = false;
  std::string recipe;  // resolved
  std::optional<std::int64_t> seed;
  std::optional<privacy::Neighbours> neighbours;  // none where nothing is private
};

// Keeps what the run costs in the registry of this machine.
class Registration {
 public:
  // DataError where the folder is a copy of a run that went on elsewhere. Does nothing for runs
  // that are not private.
  Registration(const Path& folder, const privacy::LedgerRecord& ledger,
               const Private<data::Dataset>& data, DisclosureLog& log);

  // Says what the data have cost before, besides this run.
  void tell(const privacy::LedgerRecord& ledger) const;
  // To be called before the ledger has the last of these stages.
  void charge(const privacy::LedgerRecord& ledger, const std::vector<privacy::Stage>& stages,
              Delta delta) const;
  // At the end: what the ledger has now.
  void update(const privacy::LedgerRecord& ledger, Delta delta) const;

 private:
  std::optional<privacy::Registry> registry_;
  std::string fingerprint_;
  Path folder_;
};

struct Place {
  run::RunFolder folder;
  std::optional<privacy::Ledger> ledger = std::nullopt;
  std::optional<Registration> registration = std::nullopt;  // of a ledger about private data
  std::unique_ptr<RandomBits> bits = nullptr;
};

// A new folder, or the one that is there to be gone on with: DataError unless its ledger is about
// this data.
Place take_place(const PlaceOptions& options, const Private<data::Dataset>& data);

// Pays from the ledger of `place`, which must stay where it is; what is going to be planned is
// charged in the registry before. `block` releases are reserved at once.
privacy::BudgetGuard guard_of(Place& place, const std::optional<privacy::Budget>& budget,
                              Delta delta, std::int64_t block);

// Secure, or, for experiments, the same again; another stream after each resumption.
std::unique_ptr<RandomBits> make_bits(const std::optional<std::int64_t>& seed,
                                      std::int64_t resumed_at);

}  // namespace obol::method
