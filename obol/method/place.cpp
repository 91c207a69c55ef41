#include "obol/method/place.h"

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

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

Place new_place(const PlaceOptions& options, const Private<data::Dataset>& data) {
  KeyWords key{};
  SecureBits().fill(key);
  const std::map<std::string, std::string> secrets = {{kKeyName, text_of(key)}};
  if (!options.neighbours)
    return {run::RunFolder::create(options.folder, options.recipe, std::nullopt, secrets), {}};
  Collected reasons;
  const privacy::LedgerHeader header{.neighbours = *options.neighbours,
                                     .records = data.facts().declared_size,
                                     .fingerprint = data::fingerprint(data, bytes_of(key), reasons),
                                     .randomness = make_bits(options.seed, 0)->provenance()};
  // The key comes with the folder: a run without it could not be gone on with.
  run::RunFolder folder = run::RunFolder::create(options.folder, options.recipe, header, secrets);
  run::Disclosures disclosures(folder);
  reasons.pass_on(disclosures);
  return {folder, privacy::Ledger::open(folder.ledger(), header)};
}

// DataError unless the ledger is about this data.
Place old_place(const PlaceOptions& options, const Private<data::Dataset>& data) {
  run::RunFolder folder = run::RunFolder::resume(options.folder, options.recipe);
  if (!options.neighbours) return {folder, {}};
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
  return {folder, privacy::Ledger::open(folder.ledger(), header)};
}

}  // namespace

Place take_place(const PlaceOptions& options, const Private<data::Dataset>& data) {
  return options.resume ? old_place(options, data) : new_place(options, data);
}

std::unique_ptr<RandomBits> make_bits(const std::optional<std::int64_t>& seed,
                                      std::int64_t resumed_at) {
  if (!seed) return std::make_unique<SecureBits>();
  constexpr std::uint64_t kStride = 0x9e3779b97f4a7c15;
  return std::make_unique<SeededBits>(static_cast<std::uint64_t>(*seed) +
                                      kStride * static_cast<std::uint64_t>(resumed_at));
}

}  // namespace obol::method
