// Inside the ledger: its lines, as values and as text, and what they add up to. No files here.
//
//   const std::string sealed = seal(text_of(line), hash_before);   // to be written
//   const LedgerLine again = unseal(sealed, hash_before);          // when read
//   check_follows(record, again);
//   add(record, again, hash_in(sealed));
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "obol/privacy/ledger.h"

namespace obol::privacy {

// The writer keeps to these as well, so that it never writes what it could not read.
constexpr std::size_t kMaxLineBytes = 4096;
constexpr std::uint64_t kMaxLedgerBytes = std::uint64_t{64} << 20;
constexpr std::size_t kMaxTextBytes = 200;
constexpr std::size_t kMaxPlanned = 16;                // releases in one plan
constexpr std::int64_t kMaxCount = 1'000'000'000'000;  // no sum over a whole file overflows

struct OpenLine {
  LedgerHeader header;
  std::string version;
  std::string commit;
};
struct PlanLine {
  std::vector<PlannedEvent> releases;
};
struct ReserveLine {
  std::string purpose;
  Event event;
};
struct SettleLine {
  std::int64_t reservation;
  std::int64_t used;
};
struct TurnsLine {
  LedgerTurns turns;
};
struct RecoveredLine {
  std::int64_t torn_bytes;
  std::optional<Event> event;
};

struct LedgerLine {
  std::int64_t sequence;
  std::string time;
  std::variant<OpenLine, PlanLine, ReserveLine, SettleLine, RecoveredLine, TurnsLine> content;
};

// InvalidArgument or UnsupportedEvent unless the line can follow those of the record.
void check_follows(const LedgerRecord& record, const LedgerLine& line);
// Adds a line that can follow.
void add(LedgerRecord& record, const LedgerLine& line, std::string_view hash);

// The line's text up to its hash, and the whole of it without the newline.
std::string text_of(const LedgerLine& line);
std::string seal(std::string_view text, std::string_view hash_before);
std::string_view hash_in(std::string_view sealed);

// InvalidArgument where it is longer than a line may be.
void require_readable(std::string_view sealed);

// InvalidArgument unless `sealed` is a line in the one form that seal(text_of()) gives it and its
// hash is right.
LedgerLine unseal(std::string_view sealed, std::string_view hash_before);

// What counts for a line of which only `torn` is left, and perhaps NULs for the rest.
// InvalidArgument where that cannot have been one line.
std::optional<Event> event_of_torn(std::string_view torn, const LedgerRecord& before);

}  // namespace obol::privacy
