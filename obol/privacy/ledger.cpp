#include "obol/privacy/ledger.h"

#include <algorithm>
#include <ctime>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/base/version.h"
#include "obol/privacy/durable_log.h"
#include "obol/privacy/event_json.h"
#include "obol/privacy/ledger_line.h"

namespace obol::privacy {
namespace {

std::string_view hash_before(const LedgerRecord& record) {
  return record.hashes.empty() ? std::string_view() : record.hashes.back();
}

void read_line(LedgerRecord& record, std::string_view sealed) {
  const LedgerLine line = unseal(sealed, hash_before(record));
  check_follows(record, line);
  add(record, line, hash_in(sealed));
}

void read_lines(LedgerRecord& record, std::string_view text) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    read_line(record, text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  if (record.hashes.empty())
    throw InvalidArgument(violation("a ledger", "opened by a whole line", "empty or cut in it"));
  if (!text.empty()) record.torn = {.bytes = text.size(), .counted = event_of_torn(text, record)};
}

// What is longer could not be read again.
void require_room(std::uint64_t size) {
  if (size > kMaxLedgerBytes)
    throw DataError(
        violation("a ledger", fmt::format("at most {} bytes long", kMaxLedgerBytes), size));
}

template <class T>
void require_same(const Path& path, std::string_view what, const T& recorded, const T& now) {
  if (recorded != now)
    throw DataError(
        violation(what, fmt::format("{}, as in the ledger", recorded), now, path.string()));
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

LedgerRecord read_ledger(const Bytes& bytes) {
  const std::vector<std::byte> all = read_all(bytes, kMaxLedgerBytes);
  LedgerRecord record{};
  try {
    read_lines(record, {reinterpret_cast<const char*>(all.data()), all.size()});
  } catch (const Error& error) {
    throw DataError(
        fmt::format("{} ({}:{})", error.what(), bytes.name(), record.hashes.size() + 1));
  }
  return record;
}

LedgerRecord read_ledger(const Path& path) { return read_ledger(FileBytes(path)); }

std::vector<Event> LedgerRecord::spent() const {
  std::vector<Event> total;
  std::unordered_map<std::string, std::size_t> places;  // by what the mechanism is
  const auto count = [&](const Event& event, std::int64_t used) {
    if (used == 0) return;
    const auto [place, is_new] = places.try_emplace(json_of(with_count(event, 0)), total.size());
    if (is_new) total.push_back(with_count(event, 0));
    Event& sum = total[place->second];
    sum = with_count(sum, count_of(sum) + used);
  };
  for (const LedgerEntry& entry : entries)
    if (entry.event) count(*entry.event, entry.used.value_or(count_of(*entry.event)));
  if (torn && torn->counted) count(*torn->counted, count_of(*torn->counted));
  return total;
}

std::int64_t LedgerRecord::paid(std::string_view purpose, const Event& mechanism) const {
  std::int64_t sum = 0;
  for (const LedgerEntry& entry : entries)
    if (entry.kind == LedgerEntryKind::kReserve && entry.purpose == purpose &&
        same_mechanism(*entry.event, mechanism))
      sum += entry.used.value_or(count_of(*entry.event));
  return sum;
}

bool is_private(const LedgerHeader& header) { return !header.randomness.starts_with(kNotPrivate); }

std::int64_t PlannedUse::left() const {
  return std::max<std::int64_t>(0, count_of(planned.event) - used);
}

std::int64_t LedgerRecord::left(std::string_view purpose, const Event& event) const {
  const auto found = std::find_if(schedule.begin(), schedule.end(), [&](const PlannedUse& use) {
    return use.planned.purpose == purpose && same_mechanism(use.planned.event, event);
  });
  return found == schedule.end() ? 0 : found->left();
}

LedgerHead LedgerRecord::head() const {
  return {.hash = std::string(hash_before(*this)),
          .entries = static_cast<std::int64_t>(hashes.size())};
}

bool LedgerRecord::extends(const LedgerHead& earlier) const {
  return earlier.entries >= 1 && std::cmp_less_equal(earlier.entries, hashes.size()) &&
         hashes[static_cast<std::size_t>(earlier.entries) - 1] == earlier.hash;
}

// The file and what it says, which change together.
class LedgerWriter {
 public:
  LedgerWriter(DurableLog log, LedgerRecord record)
      : log_(std::move(log)), record_(std::move(record)) {}

  static std::shared_ptr<LedgerWriter> open(const Path& path);

  // The sequence number of the line, which is on disk.
  template <class Content>
  std::int64_t append(Content content) {
    log_.require_intact();
    const LedgerLine line = next(std::move(content));
    const std::string sealed = seal(text_of(line), hash_before(record_));
    require_readable(sealed);
    require_room(log_.size() + sealed.size() + 1);
    log_.append(sealed);
    add(record_, line, hash_in(sealed));
    return line.sequence;
  }

  void require_intact() const { log_.require_intact(); }
  [[nodiscard]] const LedgerRecord& record() const noexcept { return record_; }

 private:
  template <class Content>
  [[nodiscard]] LedgerLine next(Content content) const {
    LedgerLine line{
        .sequence = record_.head().entries, .time = utc_now(), .content = std::move(content)};
    check_follows(record_, line);
    return line;
  }
  void recover(std::string text);

  DurableLog log_;
  LedgerRecord record_;
};

std::shared_ptr<LedgerWriter> LedgerWriter::open(const Path& path) {
  DurableLog log = DurableLog::open(path);
  std::string text = read_text(path, kMaxLedgerBytes);
  LedgerRecord record =
      read_ledger(MemoryBytes(path.string(), std::as_bytes(std::span(std::as_const(text)))));
  auto writer = std::make_shared<LedgerWriter>(std::move(log), std::move(record));
  if (writer->record_.torn) writer->recover(std::move(text));
  return writer;
}

// In one step: killed between a cut and a new line, the ledger would count less than before.
void LedgerWriter::recover(std::string text) {
  const TornTail torn = *std::exchange(record_.torn, std::nullopt);
  const LedgerLine line = next(
      RecoveredLine{.torn_bytes = static_cast<std::int64_t>(torn.bytes), .event = torn.counted});
  const std::string sealed = seal(text_of(line), hash_before(record_));
  text.resize(text.size() - torn.bytes);
  text += sealed + '\n';
  require_room(text.size());
  log_.replace(text);
  add(record_, line, hash_in(sealed));
}

void Reservation::take(std::int64_t count) {
  if (count < 0 || count > left())
    throw Error(
        violation("what is taken", fmt::format("0 to {}, as is paid and left", left()), count));
  if (writer_) writer_->require_intact();
  taken_ += count;
}

void Reservation::settle() {
  if (!writer_) throw Error("a reservation must be settled once, but there is none");
  writer_->append(SettleLine{.reservation = sequence_, .used = taken_});
  writer_.reset();
}

Ledger::Ledger(std::shared_ptr<LedgerWriter> writer) : writer_(std::move(writer)) {}

Ledger Ledger::create(const Path& path, const LedgerHeader& header) {
  const LedgerLine line{
      .sequence = 0,
      .time = utc_now(),
      .content = OpenLine{.header = header, .version = obol::version(), .commit = obol::commit()}};
  LedgerRecord record{};
  check_follows(record, line);
  const std::string sealed = seal(text_of(line), {});
  DurableLog log = DurableLog::create(path, sealed);
  add(record, line, hash_in(sealed));
  return Ledger(std::make_shared<LedgerWriter>(std::move(log), std::move(record)));
}

Ledger Ledger::open(const Path& path) { return Ledger(LedgerWriter::open(path)); }

Ledger Ledger::open(const Path& path, const LedgerHeader& header) {
  Ledger ledger = open(path);
  const LedgerHeader& recorded = ledger.record().header;
  require_same(path, "neighbours", name_of(recorded.neighbours), name_of(header.neighbours));
  require_same(path, "records", recorded.records, header.records);
  require_same(path, "fingerprint", recorded.fingerprint, header.fingerprint);
  require_same(path, "randomness", recorded.randomness, header.randomness);
  return ledger;
}

void Ledger::plan(std::vector<PlannedEvent> releases) {
  writer_->append(PlanLine{.releases = std::move(releases)});
}

Reservation Ledger::reserve(std::string_view purpose, const Event& event) {
  Reservation paid;
  paid.sequence_ = writer_->append(ReserveLine{.purpose = std::string(purpose), .event = event});
  paid.reserved_ = count_of(event);
  paid.writer_ = writer_;
  return paid;
}

void Ledger::reserve_turns(const LedgerTurns& turns) { writer_->append(TurnsLine{turns}); }

const LedgerRecord& Ledger::record() const {
  writer_->require_intact();
  return writer_->record();
}

}  // namespace obol::privacy
