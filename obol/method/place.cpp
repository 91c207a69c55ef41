#include "obol/method/place.h"

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/data/fingerprint.h"

namespace obol::method {
namespace {

constexpr std::size_t kKeyWords = 4;
using KeyWords = std::array<std::uint64_t, kKeyWords>;
constexpr const char* kKeyName = run::RunFolder::kOwnKeyName;

// Keeps reasons until there is a folder for them.
class Collected final : public DisclosureLog {
 public:
  void record(std::string_view reason) override { reasons_.emplace_back(reason); }
  void pass_on(DisclosureLog& log) const {
    for (const std::string& reason : reasons_) log.record(reason);
  }

 private:
  std::vector<std::string> reasons_;
};

std::span<const std::byte> bytes_of(const KeyWords& key) { return std::as_bytes(std::span(key)); }

std::string text_of(const KeyWords& key) {
  const auto bytes = bytes_of(key);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The ledger of the folder, and what the data have cost.
Place with_ledger(const run::RunFolder& folder, const privacy::LedgerHeader& header,
                  const Private<data::Dataset>& data, DisclosureLog& log) {
  Place place{folder, privacy::Ledger::open(folder.ledger(), header)};
  place.registration.emplace(folder.path(), place.ledger->record(), data, log);
  place.registration->tell(place.ledger->record());
  return place;
}

Place new_place(const PlaceOptions& options, const Private<data::Dataset>& data) {
  KeyWords key{};
  SecureBits().fill(key);
  const std::map<std::string, std::string> secrets = {{kKeyName, text_of(key)}};
  if (!options.neighbours)
    return {run::RunFolder::create(options.folder, options.recipe, std::nullopt, secrets)};
  Collected reasons;
  const privacy::LedgerHeader header{.neighbours = *options.neighbours,
                                     .records = data.facts().declared_size,
                                     .fingerprint = data::fingerprint(data, bytes_of(key), reasons),
                                     .randomness = make_bits(options.seed, 0)->provenance()};
  // The key comes with the folder: a run without it could not be gone on with.
  run::RunFolder folder = run::RunFolder::create(options.folder, options.recipe, header, secrets);
  run::Disclosures disclosures(folder);
  reasons.pass_on(disclosures);
  return with_ledger(folder, header, data, disclosures);
}

// DataError unless the ledger is about this data.
Place old_place(const PlaceOptions& options, const Private<data::Dataset>& data) {
  run::RunFolder folder = run::RunFolder::resume(options.folder, options.recipe);
  if (!options.neighbours) return {folder};
  privacy::LedgerHeader header = privacy::read_ledger(folder.ledger()).header;
  KeyWords key{};
  const FileBytes file(folder.make_private() / kKeyName);
  file.read_exactly(0, std::as_writable_bytes(std::span(key)), "the key of the fingerprint");
  run::Disclosures disclosures(folder);
  const std::string fingerprint = data::fingerprint(data, bytes_of(key), disclosures);
  if (fingerprint != header.fingerprint || data.facts().declared_size != header.records)
    throw DataError(fmt::format(
        "the data must be those that {} was started with, but their fingerprint is another",
        options.folder.string()));
  return with_ledger(folder, header, data, disclosures);
}

}  // namespace

Registration::Registration(const Path& folder, const privacy::LedgerRecord& ledger,
                           const Private<data::Dataset>& data, DisclosureLog& log)
    : folder_(folder) {
  if (!privacy::is_private(ledger.header)) return;
  registry_ = privacy::Registry::open();
  if (!registry_) return;
  fingerprint_ = data::pixel_fingerprint(data, registry_->key(), log);
  registry_->require_only_copy(fingerprint_, folder, ledger);
}

void Registration::tell(const privacy::LedgerRecord& ledger) const {
  if (!registry_) return;
  const std::string said =
      in_words(privacy::totals(registry_->uses(fingerprint_), ledger.hashes.front()));
  if (!said.empty()) log_info("{}", said);
}

void Registration::charge(const privacy::LedgerRecord& ledger,
                          const std::vector<privacy::Stage>& stages, Delta delta) const {
  if (registry_) registry_->record(fingerprint_, privacy::use_of(folder_, ledger, stages, delta));
}

void Registration::update(const privacy::LedgerRecord& ledger, Delta delta) const {
  try {
    charge(ledger, privacy::stages_of(ledger), delta);
  } catch (const DataError& error) {  // what was charged is there already
    log_warning("{}", error.what());
  }
}

Place take_place(const PlaceOptions& options, const Private<data::Dataset>& data) {
  Place place = options.resume ? old_place(options, data) : new_place(options, data);
  place.bits = make_bits(options.seed, place.ledger ? place.ledger->head().entries : 0);
  return place;
}

privacy::BudgetGuard guard_of(Place& place, const std::optional<privacy::Budget>& budget,
                              Delta delta, std::int64_t block) {
  const auto charge = [&place, delta](const std::vector<privacy::Stage>& stages) {
    place.registration->charge(place.ledger->record(), stages, delta);
  };
  return {*place.ledger, budget, {.block = block, .accounting = {}, .before_plan = charge}};
}

std::unique_ptr<RandomBits> make_bits(const std::optional<std::int64_t>& seed,
                                      std::int64_t resumed_at) {
  if (!seed) return std::make_unique<SecureBits>();
  constexpr std::uint64_t kStride = 0x9e3779b97f4a7c15;
  return std::make_unique<SeededBits>(static_cast<std::uint64_t>(*seed) +
                                      kStride * static_cast<std::uint64_t>(resumed_at));
}

}  // namespace obol::method
