// The write-ahead log of privacy spending: an event is on disk before its release is used.
//
//   Ledger ledger = Ledger::create("run/ledger.jsonl", header);
//   ledger.plan({{"training", with_count(step, 20'000)}});                  // before the first one
//   Reservation paid = ledger.reserve("training", with_count(step, 100));   // fsync has returned
//   for (...) { paid.take(); release(); }                                   // throws at the 101st
//   paid.settle();                                                          // on a clean stop only
//   read_ledger("run/ledger.jsonl").spent()                                 // for an accountant
//
// Paying goes ahead in blocks, never behind. Without a settlement, as after a crash, the whole
// reservation counts; and since a resumed run reserves anew, steps that are run again are paid
// again. Killed at any instant, the ledger counts too much by the reservation at most, never too
// little.
//
// A plan fixes, before its first release, which releases there will be at most; a certificate is
// about the whole plan (stages.h). In a ledger that begins with a plan, every reservation is within
// what the plans have left for its purpose and mechanism; further releases need a further plan. A
// reservation that a crash leaves unsettled uses up its share of the plan.
//
// The file is JSON lines. Each ends in `,"hash":"..."}`, the SHA-256 of the hash before (none for
// the first line) and of the line's own text up to that comma. Flipped, reordered, removed,
// repeated or inserted lines are DataError. Two things the file alone cannot show: that someone
// rebuilt the whole chain, and that whole lines are missing at the end. Hence head(): whoever
// keeps it elsewhere, as checkpoints and certificates do, can ask later whether the ledger still
// extends it.
//
// A last line without its newline is torn, by a power cut as a rule. Its fsync had not returned,
// so nothing of it was used and nothing need be counted for it. Should it have been torn by
// something else, though, it may have been used: so its event is counted where it can still be
// read, and else that of the last reservation once more. Nothing counts where no reservation came
// before, since there is nothing to go by, for what can be seen to be a settlement, which only
// ever lowers, and for a plan, which nothing was reserved from yet.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "obol/base/file.h"
#include "obol/privacy/event.h"

namespace obol::privacy {

// How the randomness begins where no guarantee holds: "not private: fixed seed 7".
inline constexpr const char* kNotPrivate = "not private";
// How the purpose of a release ends that somebody else made, where nobody checked his certificate.
inline constexpr const char* kNotChecked = ", not checked";

// The purpose of a histogram, whose noise is stated for one record more or less.
inline constexpr const char* kClassHistogram = "class histogram";

// Texts are UTF-8 without control characters, 1 to 200 bytes long, here and below.
struct LedgerHeader {
  Neighbours neighbours;    // not kAsStated
  std::int64_t records;     // a public constant
  std::string fingerprint;  // of the data, keyed
  std::string randomness;   // RandomBits::provenance()
  bool operator==(const LedgerHeader&) const = default;
};

// Noise and samples from a fixed seed protect nobody.
bool is_private(const LedgerHeader& header);

// One line of a plan: `event` with its count.
struct PlannedEvent {
  std::string purpose;
  Event event;
};

struct LedgerPlan {
  std::int64_t sequence;
  std::string time;
  std::vector<PlannedEvent> releases;
};

// One purpose and mechanism in all plans together.
struct PlannedUse {
  PlannedEvent planned;
  std::int64_t used;  // reserved, or used where settled; a recovery counts for every purpose
  [[nodiscard]] std::int64_t left() const;
};

enum class LedgerEntryKind { kReserve, kRecovered };

struct LedgerEntry {
  LedgerEntryKind kind;
  std::int64_t sequence;
  std::string time;                  // UTC, "2026-01-31T12:00:00Z"
  std::string purpose;               // "training", "class histogram"; empty for a recovery
  std::optional<Event> event;        // as reserved; a recovery may count none
  std::optional<std::int64_t> used;  // of its count, where settled
};

// A position in the chain.
struct LedgerHead {
  std::string hash;      // of the last line
  std::int64_t entries;  // lines up to there, the first included
  bool operator==(const LedgerHead&) const = default;
};

// Whose turn it is, where shards take turns: all of the first `reserved` turns may have been taken.
// See turns.h.
struct LedgerTurns {
  std::string schedule;
  std::int64_t shards;
  std::int64_t reserved;
  bool operator==(const LedgerTurns&) const = default;
};
// A line reserves at most so many more turns than the line before it.
inline constexpr std::int64_t kTurnsBlock = 100;

struct TornTail {
  std::uint64_t bytes;
  std::optional<Event> counted;
};

// What a ledger says.
struct LedgerRecord {
  LedgerHeader header;
  std::string opened;  // UTC
  std::string version;
  std::string commit;
  std::vector<LedgerEntry> entries;  // in order; settlements are in `used`
  std::vector<LedgerPlan> plans;     // in order
  std::vector<PlannedUse> schedule;  // of all plans
  std::vector<std::string> hashes;   // of every line
  std::optional<LedgerTurns> turns;  // none where no shards took turns
  std::optional<TornTail> torn;

  // What an accountant composes: equal mechanisms as one event, in order of first appearance,
  // counts after settlement; a torn tail counts. Mechanisms of which nothing was used are left
  // out.
  [[nodiscard]] std::vector<Event> spent() const;
  // How many releases of this mechanism were paid for this purpose, after settlement. A torn tail
  // and what was recovered are spent but pay for no release.
  [[nodiscard]] std::int64_t paid(std::string_view purpose, const Event& mechanism) const;
  // Whether the releases were planned before the first.
  [[nodiscard]] bool is_planned() const noexcept { return !plans.empty(); }
  // What the plans have left of it; 0 where there is no plan.
  [[nodiscard]] std::int64_t left(std::string_view purpose, const Event& event) const;
  [[nodiscard]] LedgerHead head() const;
  // Whether `earlier` was once the head of this ledger.
  [[nodiscard]] bool extends(const LedgerHead& earlier) const;
};

// "2026-01-31T12:00:00Z", as in the ledger.
std::string utc_now();

// Changes nothing. DataError, with file and line, on anything that a Ledger would not have written.
LedgerRecord read_ledger(const Path& path);
LedgerRecord read_ledger(const Bytes& bytes);

class LedgerWriter;

// Steps that are paid for. Dropped without settle(), as a crash drops it, all of them count. It
// keeps its ledger open.
class Reservation {
 public:
  Reservation() = default;  // of nothing
  Reservation(Reservation&&) = default;
  Reservation& operator=(Reservation&&) = default;

  // To be called before the release. Error where more is taken than was reserved, or once settled.
  void take(std::int64_t count = 1);
  [[nodiscard]] std::int64_t taken() const noexcept { return writer_ ? taken_ : 0; }
  [[nodiscard]] std::int64_t left() const noexcept { return writer_ ? reserved_ - taken_ : 0; }

  // Records that no more will be taken than was so far, so that no more counts.
  void settle();

 private:
  friend class Ledger;
  std::shared_ptr<LedgerWriter> writer_;
  std::int64_t sequence_ = 0;
  std::int64_t reserved_ = 0;
  std::int64_t taken_ = 0;
};

// The one writer of a ledger. For one thread. After a failed write every call throws DataError.
class Ledger {
 public:
  // DataError where there is such a file already.
  static Ledger create(const Path& path, const LedgerHeader& header);

  // Goes on with what is there; a torn tail is cut off and recorded as recovered, with what is
  // counted for it. DataError where another process has the ledger open.
  static Ledger open(const Path& path);
  // For a run that is resumed: DataError unless the header is the same.
  static Ledger open(const Path& path, const LedgerHeader& header);

  // On disk when it returns. InvalidArgument where something was reserved without a plan before.
  void plan(std::vector<PlannedEvent> releases);

  // On disk when it returns. UnsupportedEvent where the neighbours are not those of the header,
  // InvalidArgument where the ledger has a plan and this is beyond it.
  Reservation reserve(std::string_view purpose, const Event& event);
  // Likewise. InvalidArgument where schedule or shards are not those of an earlier line.
  void reserve_turns(const LedgerTurns& turns);

  [[nodiscard]] const LedgerRecord& record() const;
  [[nodiscard]] std::vector<Event> spent() const { return record().spent(); }
  [[nodiscard]] LedgerHead head() const { return record().head(); }

 private:
  explicit Ledger(std::shared_ptr<LedgerWriter> writer);
  std::shared_ptr<LedgerWriter> writer_;
};

}  // namespace obol::privacy
