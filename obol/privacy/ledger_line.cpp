#include "obol/privacy/ledger_line.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/error.h"
#include "obol/base/sha256.h"
#include "obol/privacy/event_json.h"

namespace obol::privacy {
namespace {

using nlohmann::json;

constexpr std::string_view kLedgerFormat = "obol-ledger";
constexpr std::int64_t kLedgerVersion = 1;
constexpr std::string_view kHashKey = R"(,"hash":")";
constexpr std::string_view kClosing = "\"}";
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kSealBytes = kHashKey.size() + kHashDigits + kClosing.size();

void check_text(std::string_view name, const std::string& text) {
  if (text.empty() || text.size() > kMaxTextBytes)
    throw InvalidArgument(violation(fmt::format("the length of {}", name),
                                    fmt::format("1 to {} bytes", kMaxTextBytes), text.size()));
  constexpr unsigned char kFirstPrintable = 0x20;
  constexpr unsigned char kDelete = 0x7f;
  const bool has_control = std::any_of(text.begin(), text.end(), [](unsigned char c) {
    return c < kFirstPrintable || c == kDelete;
  });
  if (has_control) throw InvalidArgument(violation(name, "without control characters", "not"));
  json_of(text);  // throws unless it is UTF-8
}

void check_time(const std::string& time) {
  constexpr std::string_view kPattern = "0000-00-00T00:00:00Z";
  bool matches = time.size() == kPattern.size();
  for (std::size_t i = 0; matches && i < kPattern.size(); ++i)
    matches = kPattern[i] == '0' ? std::isdigit(static_cast<unsigned char>(time[i])) != 0
                                 : time[i] == kPattern[i];
  if (!matches)
    throw InvalidArgument(violation("time", "like 2026-01-31T12:00:00Z", json_of(time)));
}

void check_event(const Event& event, Neighbours neighbours) {
  check(event);
  if (count_of(event) < 1 || count_of(event) > kMaxCount)
    throw InvalidArgument(violation("count", fmt::format("1 to {}", kMaxCount), count_of(event)));
  common_neighbours(neighbours, neighbours_of(event));
}

void check_content(const LedgerRecord& /*record*/, const OpenLine& line) {
  if (line.header.neighbours == Neighbours::kAsStated)
    throw InvalidArgument(violation("neighbours", "add-remove, replace-one or person",
                                    name_of(line.header.neighbours)));
  if (line.header.records < 1)
    throw InvalidArgument(violation("records", "positive", line.header.records));
  check_text("fingerprint", line.header.fingerprint);
  check_text("randomness", line.header.randomness);
  check_text("software", line.version);
  check_text("commit", line.commit);
}

void check_content(const LedgerRecord& record, const PlanLine& line) {
  if (line.releases.empty() || line.releases.size() > kMaxPlanned)
    throw InvalidArgument(violation("the number of releases in a plan",
                                    fmt::format("1 to {}", kMaxPlanned), line.releases.size()));
  const bool is_spent = std::any_of(record.entries.begin(), record.entries.end(),
                                    [](const LedgerEntry& entry) { return entry.event; });
  if (record.plans.empty() && is_spent)
    throw InvalidArgument(
        violation("a plan", "written before the first reservation", "after one without a plan"));
  for (const PlannedEvent& one : line.releases) {
    check_text("purpose", one.purpose);
    check_event(one.event, record.header.neighbours);
  }
}

void check_content(const LedgerRecord& record, const ReserveLine& line) {
  check_text("purpose", line.purpose);
  check_event(line.event, record.header.neighbours);
  if (line.purpose == kClassHistogram && record.header.neighbours == Neighbours::kReplaceOne)
    throw UnsupportedEvent(
        "a class histogram must be released where neighbours are one record more or less, but here "
        "a record may get another value, which moves two counts");
  if (!record.is_planned()) return;
  const std::int64_t left = record.left(line.purpose, line.event);
  if (count_of(line.event) > left)
    throw InvalidArgument(violation(fmt::format("what is reserved for {}", line.purpose),
                                    fmt::format("at most {}, as planned and left", left),
                                    count_of(line.event)));
}

// Entries are in the order of their sequence numbers.
template <class Entries>
auto find_reservation(Entries& entries, std::int64_t sequence) {
  const auto found = std::lower_bound(
      entries.begin(), entries.end(), sequence,
      [](const LedgerEntry& entry, std::int64_t wanted) { return entry.sequence < wanted; });
  const bool is_there = found != entries.end() && found->sequence == sequence &&
                        found->kind == LedgerEntryKind::kReserve;
  return is_there ? found : entries.end();
}

void check_content(const LedgerRecord& record, const SettleLine& line) {
  const auto found = find_reservation(record.entries, line.reservation);
  if (found == record.entries.end())
    throw InvalidArgument(violation("what is settled", "an earlier reservation", line.reservation));
  if (found->used)
    throw InvalidArgument(fmt::format(
        "a reservation must be settled once, but {} was settled before", line.reservation));
  if (line.used < 0 || line.used > count_of(*found->event))
    throw InvalidArgument(
        violation("used", fmt::format("0 to {}, as reserved", count_of(*found->event)), line.used));
}

void check_content(const LedgerRecord& record, const RecoveredLine& line) {
  if (line.torn_bytes < 1)
    throw InvalidArgument(violation("torn_bytes", "positive", line.torn_bytes));
  if (line.event) check_event(*line.event, record.header.neighbours);
}

void check_content(const LedgerRecord& record, const TurnsLine& line) {
  const LedgerTurns& turns = line.turns;
  check_text("schedule", turns.schedule);
  if (turns.shards < 1 || turns.shards > kMaxCount)
    throw InvalidArgument(violation("shards", fmt::format("1 to {}", kMaxCount), turns.shards));
  if (record.turns &&
      (record.turns->schedule != turns.schedule || record.turns->shards != turns.shards))
    throw InvalidArgument(
        violation("turns", "of the schedule and the shards of earlier ones", "of others"));
  const std::int64_t most = (record.turns ? record.turns->reserved : 0) + kTurnsBlock;
  if (turns.reserved < 0 || turns.reserved > std::min(most, kMaxCount))
    throw InvalidArgument(
        violation("reserved", fmt::format("0 to {}", std::min(most, kMaxCount)), turns.reserved));
}

std::string text_of_content(const OpenLine& line) {
  return fmt::format(
      R"("format":"{}","version":{},"neighbours":"{}","records":{},"fingerprint":{},)"
      R"("randomness":{},"software":{},"commit":{})",
      kLedgerFormat, kLedgerVersion, name_of(line.header.neighbours), line.header.records,
      json_of(line.header.fingerprint), json_of(line.header.randomness), json_of(line.version),
      json_of(line.commit));
}

std::string text_of_content(const PlanLine& line) {
  std::string text = R"("releases":[)";
  for (const PlannedEvent& one : line.releases)
    text += fmt::format(R"({}{{"purpose":{},"event":{}}})", text.ends_with('[') ? "" : ",",
                        json_of(one.purpose), json_of(one.event));
  return text + ']';
}

std::string text_of_content(const ReserveLine& line) {
  return fmt::format(R"("purpose":{},"event":{})", json_of(line.purpose), json_of(line.event));
}

std::string text_of_content(const SettleLine& line) {
  return fmt::format(R"("reservation":{},"used":{})", line.reservation, line.used);
}

std::string text_of_content(const RecoveredLine& line) {
  return fmt::format(R"("torn_bytes":{},"event":{})", line.torn_bytes,
                     line.event ? json_of(*line.event) : "null");
}

std::string text_of_content(const TurnsLine& line) {
  return fmt::format(R"("schedule":{},"shards":{},"reserved":{})", json_of(line.turns.schedule),
                     line.turns.shards, line.turns.reserved);
}

std::string_view kind_of(const LedgerLine& line) {
  constexpr std::array<std::string_view, 6> kKinds = {"open",   "plan",      "reserve",
                                                      "settle", "recovered", "turns"};
  return kKinds.at(line.content.index());
}

OpenLine parse_open(StrictObject& object) {
  const std::string format = object.text("format");
  const std::int64_t version = object.integer("version");
  if (format != kLedgerFormat)
    throw InvalidArgument(violation("format", kLedgerFormat, json_of(format)));
  if (version != kLedgerVersion)
    throw InvalidArgument(violation("version", std::to_string(kLedgerVersion), version));
  OpenLine line{.header = {.neighbours = neighbours_from(object.text("neighbours")),
                           .records = object.integer("records"),
                           .fingerprint = object.text("fingerprint"),
                           .randomness = object.text("randomness")},
                .version = object.text("software"),
                .commit = object.text("commit")};
  return line;
}

PlanLine parse_plan(StrictObject& object) {
  const json& releases = object.member("releases");
  if (!releases.is_array())
    throw InvalidArgument(violation("releases", "a JSON array", releases.type_name()));
  PlanLine line;
  for (const json& value : releases) {
    StrictObject one(value, "a release that is planned");
    line.releases.push_back(
        {.purpose = one.text("purpose"), .event = event_from(one.member("event"))});
    one.finish();
  }
  return line;
}

LedgerLine parse(const json& value) {
  StrictObject object(value, "a line");
  LedgerLine line{};
  const std::string kind = object.text("kind");
  line.sequence = object.integer("sequence");
  line.time = object.text("time");
  if (kind == "open") {
    line.content = parse_open(object);
  } else if (kind == "plan") {
    line.content = parse_plan(object);
  } else if (kind == "reserve") {
    line.content =
        ReserveLine{.purpose = object.text("purpose"), .event = event_from(object.member("event"))};
  } else if (kind == "settle") {
    line.content =
        SettleLine{.reservation = object.integer("reservation"), .used = object.integer("used")};
  } else if (kind == "recovered") {
    RecoveredLine recovered{.torn_bytes = object.integer("torn_bytes"), .event = {}};
    if (const json& event = object.member("event"); !event.is_null())
      recovered.event = event_from(event);
    line.content = recovered;
  } else if (kind == "turns") {
    line.content = TurnsLine{{.schedule = object.text("schedule"),
                              .shards = object.integer("shards"),
                              .reserved = object.integer("reserved")}};
  } else {
    throw InvalidArgument(
        violation("kind", "open, plan, reserve, settle, recovered or turns", json_of(kind)));
  }
  object.finish();
  return line;
}

void schedule(LedgerRecord& record, const PlannedEvent& planned) {
  for (PlannedUse& use : record.schedule)
    if (use.planned.purpose == planned.purpose &&
        same_mechanism(use.planned.event, planned.event)) {
      use.planned.event =
          with_count(use.planned.event, count_of(use.planned.event) + count_of(planned.event));
      return;
    }
  record.schedule.push_back({.planned = planned, .used = 0});
}

// A recovery does not say what it was for: it counts for every purpose.
void charge(LedgerRecord& record, const std::optional<std::string>& purpose, const Event& event,
            std::int64_t count) {
  for (PlannedUse& use : record.schedule)
    if ((!purpose || use.planned.purpose == *purpose) && same_mechanism(use.planned.event, event))
      use.used += count;
}

std::string hash_of(std::string_view text, std::string_view hash_before) {
  Sha256 hash;
  hash.update(hash_before);
  hash.update(text);
  return hash.hex();
}

}  // namespace

void check_follows(const LedgerRecord& record, const LedgerLine& line) {
  const auto next = static_cast<std::int64_t>(record.hashes.size());
  if (line.sequence != next)
    throw InvalidArgument(violation("sequence", std::to_string(next), line.sequence));
  if (std::holds_alternative<OpenLine>(line.content) != (next == 0))
    throw InvalidArgument(next == 0 ? violation("the first line", "of kind open", kind_of(line))
                                    : violation("a later line", "of another kind", "open"));
  check_time(line.time);
  std::visit([&](const auto& content) { check_content(record, content); }, line.content);
}

void add(LedgerRecord& record, const LedgerLine& line, std::string_view hash) {
  if (const auto* open = std::get_if<OpenLine>(&line.content)) {
    record.header = open->header;
    record.opened = line.time;
    record.version = open->version;
    record.commit = open->commit;
  } else if (const auto* plan = std::get_if<PlanLine>(&line.content)) {
    record.plans.push_back(
        {.sequence = line.sequence, .time = line.time, .releases = plan->releases});
    for (const PlannedEvent& one : plan->releases) schedule(record, one);
  } else if (const auto* reserve = std::get_if<ReserveLine>(&line.content)) {
    charge(record, reserve->purpose, reserve->event, count_of(reserve->event));
    record.entries.push_back({.kind = LedgerEntryKind::kReserve,
                              .sequence = line.sequence,
                              .time = line.time,
                              .purpose = reserve->purpose,
                              .event = reserve->event,
                              .used = {}});
  } else if (const auto* settle = std::get_if<SettleLine>(&line.content)) {
    LedgerEntry& entry = *find_reservation(record.entries, settle->reservation);
    entry.used = settle->used;
    charge(record, entry.purpose, *entry.event, settle->used - count_of(*entry.event));
  } else if (const auto* recovered = std::get_if<RecoveredLine>(&line.content)) {
    if (recovered->event)
      charge(record, std::nullopt, *recovered->event, count_of(*recovered->event));
    record.entries.push_back({.kind = LedgerEntryKind::kRecovered,
                              .sequence = line.sequence,
                              .time = line.time,
                              .purpose = {},
                              .event = recovered->event,
                              .used = {}});
    // The line that was lost may have reserved a block of them.
    if (record.turns)
      record.turns->reserved = std::min(record.turns->reserved + kTurnsBlock, kMaxCount);
  } else if (const auto* turns = std::get_if<TurnsLine>(&line.content)) {
    record.turns = turns->turns;
  }
  record.hashes.emplace_back(hash);
}

std::string text_of(const LedgerLine& line) {
  return fmt::format(
      R"({{"kind":"{}","sequence":{},"time":{},{})", kind_of(line), line.sequence,
      json_of(line.time),
      std::visit([](const auto& content) { return text_of_content(content); }, line.content));
}

std::string seal(std::string_view text, std::string_view hash_before) {
  return fmt::format("{}{}{}{}", text, kHashKey, hash_of(text, hash_before), kClosing);
}

std::string_view hash_in(std::string_view sealed) {
  return sealed.substr(sealed.size() - kClosing.size() - kHashDigits, kHashDigits);
}

void require_readable(std::string_view sealed) {
  if (sealed.size() > kMaxLineBytes)
    throw InvalidArgument(
        violation("a line", fmt::format("at most {} bytes long", kMaxLineBytes), sealed.size()));
}

LedgerLine unseal(std::string_view sealed, std::string_view hash_before) {
  require_readable(sealed);
  if (sealed.find('\0') != std::string_view::npos)
    throw InvalidArgument("a line must hold no NUL, but does");
  if (sealed.size() < kSealBytes || !sealed.ends_with(kClosing) ||
      sealed.substr(sealed.size() - kSealBytes, kHashKey.size()) != kHashKey)
    throw InvalidArgument(R"(a line must end in ,"hash":"..."}, but does not)");
  const std::string_view text = sealed.substr(0, sealed.size() - kSealBytes);
  if (hash_of(text, hash_before) != hash_in(sealed))
    throw InvalidArgument(
        violation("the hash", "that of the hash before and of this line", "another"));
  const json value = json::parse(std::string(text) + '}', nullptr, false);
  if (value.is_discarded())
    throw InvalidArgument(violation("a line", "a JSON object in UTF-8", "not"));
  LedgerLine line = parse(value);
  // A key given twice, a space, 0.10 for 0.1: what others could read in another way is refused.
  if (text_of(line) != text)
    throw InvalidArgument(violation("a line", "in the one form that is written", "in another"));
  return line;
}

std::optional<Event> event_of_torn(std::string_view torn, const LedgerRecord& before) {
  const std::string_view text = torn.substr(0, torn.find_last_not_of('\0') + 1);
  if (text.size() > kMaxLineBytes || text.find(R"({"kind":)", 1) != std::string_view::npos)
    throw InvalidArgument("a last line without its newline must be part of one line, but is more");
  // It was to lower what counts for its reservation, which now counts in full.
  if (text.starts_with(R"({"kind":"settle",)")) return std::nullopt;
  // Turns are taken once their answers are paid for, by lines that would come later.
  if (text.starts_with(R"({"kind":"turns",)")) return std::nullopt;
  // Nothing was reserved from a plan that is not on disk.
  if (text.starts_with(R"({"kind":"plan",)")) return std::nullopt;
  constexpr std::string_view kEventKey = R"("event":)";
  const std::size_t key = torn.find(kEventKey);
  const std::size_t end = key == std::string_view::npos ? key : torn.find('}', key);
  if (end != std::string_view::npos) {
    const std::size_t begin = key + kEventKey.size();
    const json value = json::parse(torn.substr(begin, end + 1 - begin), nullptr, false);
    try {
      const Event event = event_from(value);
      check_event(event, before.header.neighbours);
      return event;
    } catch (const Error&) {  // then what is left of it says nothing
    }
  }
  const auto last = std::find_if(
      before.entries.rbegin(), before.entries.rend(),
      [](const LedgerEntry& entry) { return entry.kind == LedgerEntryKind::kReserve; });
  return last == before.entries.rend() ? std::nullopt : last->event;
}

}  // namespace obol::privacy
