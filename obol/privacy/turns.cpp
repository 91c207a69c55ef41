#include "obol/privacy/turns.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/error.h"
#include "obol/base/random.h"

namespace obol::privacy {
namespace {

constexpr std::uint64_t kLargestTurns = 4096;
constexpr std::int64_t kMost = std::int64_t{1} << 40;

}  // namespace

std::int64_t shard_at(const std::string& schedule, std::int64_t shards, std::int64_t turn) {
  if (schedule == "cyclic") return turn % shards;
  return static_cast<std::int64_t>(
      SeededBits(static_cast<std::uint64_t>(turn)).below(static_cast<std::uint64_t>(shards)));
}

std::int64_t most_uses(const std::string& schedule, std::int64_t shards, std::int64_t turns) {
  if (schedule == "cyclic") return (turns + shards - 1) / shards;
  std::vector<std::int64_t> uses(static_cast<std::size_t>(shards), 0);
  for (std::int64_t turn = 0; turn < turns; ++turn)
    ++uses[static_cast<std::size_t>(shard_at(schedule, shards, turn))];
  return *std::max_element(uses.begin(), uses.end());
}

Turns::Turns(const TurnsOptions& options, Ledger& ledger, std::int64_t paid)
    : options_(options), ledger_(&ledger), uses_(static_cast<std::size_t>(options.shards), 0) {
  const std::optional<LedgerTurns>& turns = ledger.record().turns;
  if (turns && (turns->schedule != options.schedule || turns->shards != options.shards))
    throw DataError(
        violation("the turns in the ledger", "of this schedule and these shards", "of others"));
  if (turns) go_to(turns->reserved);
  const std::int64_t most = *std::max_element(uses_.begin(), uses_.end());
  if (most < paid)
    throw DataError(
        violation("the turns in the ledger",
                  fmt::format("at least those of the {} answers of a shard that it has, since "
                              "nobody could tell otherwise which shards have answered",
                              paid),
                  fmt::format("those of {}; a new run is needed", most)));
}

Turns::Turns(const TurnsOptions& options, Path file)
    : options_(options),
      file_(std::move(file)),
      uses_(static_cast<std::size_t>(options.shards), 0) {
  std::error_code ignored;
  if (!std::filesystem::exists(file_, ignored)) return;
  const auto refuse = [&](std::string_view must, std::string_view is) {
    throw DataError(violation("the record of turns", must, is, file_.string()));
  };
  const auto json = nlohmann::json::parse(read_text(file_, kLargestTurns), nullptr, false);
  if (!json.is_object() || !json.contains("turns") || !json["turns"].is_number_integer())
    refuse("an object with the number of turns", "something else");
  if (json.value("schedule", "") != options.schedule || json.value("shards", 0) != options.shards)
    refuse("of this schedule and these shards", "of others");
  const std::int64_t reserved = json["turns"];
  if (reserved < 0 || reserved > kMost) refuse("of a number of turns", "of another number");
  go_to(reserved);
}

void Turns::go_to(std::int64_t reserved) {
  for (; given_ < reserved; ++given_)
    ++uses_[static_cast<std::size_t>(shard_at(options_.schedule, options_.shards, given_))];
  reserved_ = reserved;
}

void Turns::write(std::int64_t reserved) {
  if (ledger_ != nullptr)
    ledger_->reserve_turns(
        {.schedule = options_.schedule, .shards = options_.shards, .reserved = reserved});
  else
    write_file(file_, fmt::format(R"({{"schedule":"{}","shards":{},"turns":{}}})"
                                  "\n",
                                  options_.schedule, options_.shards, reserved));
  reserved_ = reserved;
}

Turn Turns::next() {
  if (given_ == reserved_) write(reserved_ + kTurnsBlock);
  const std::int64_t shard = shard_at(options_.schedule, options_.shards, given_++);
  return {shard, ++uses_[static_cast<std::size_t>(shard)]};
}

void Turns::settle() {
  if (reserved_ != given_) write(given_);
}

}  // namespace obol::privacy
