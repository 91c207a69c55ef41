// Whatever happens to a run, its ledger counts at least what was used, and at most a reservation
// more for each time that it was cut short.
//
// OBOL_KILLS: how many runs to kill at random instants.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <gtest/gtest.h>

#include "obol/base/random.h"
#include "obol/base/text.h"
#include "obol/privacy/ledger.h"
#include "obol/privacy/ledger_line.h"
#include "obol/privacy/ledger_testing.h"
#include "obol/privacy/stages.h"
#include "tests/faults/calls.h"
#include "tests/faults/run.h"

namespace obol::faults {
namespace {

using privacy::kMaxLedgerBytes;
using privacy::Ledger;
using privacy::read_ledger_text;
using privacy::Reservation;
using privacy::some_header;
using privacy::times;

constexpr std::int64_t kBlock = 10;

// Not write_file: its calls would be counted, and need not be on disk.
void put(const Path& path, std::string_view text) {
  std::ofstream(path, std::ios::trunc | std::ios::binary) << text;
}

std::string whole_ledger() {
  const TemporaryFolder folder;
  const Path path = folder.path() / "ledger.jsonl";
  Ledger ledger = Ledger::create(path, some_header());
  for (const std::int64_t count : {kBlock, kBlock, kBlock}) {
    Reservation paid = ledger.reserve("training", with_count(kStep, count));
    paid.take(count - 3);
    paid.settle();
  }
  return read_text(path, kMaxLedgerBytes);
}

class LedgerFaults : public testing::Test {
 protected:
  LedgerFaults() { plan() = {}; }
  ~LedgerFaults() override { plan() = {}; }
  [[nodiscard]] Path path() const { return folder_.path() / "ledger.jsonl"; }

 private:
  TemporaryFolder folder_;
};

// One run from `start` (nothing: a new ledger) with a fault, then one without. True: the plan's
// call came up, so a later one may too.
bool survives(const std::string& start, std::int64_t used_before, const Plan& faulty) {
  const TemporaryFolder folder;
  const Path path = folder.path() / "ledger.jsonl";
  if (!start.empty()) put(path, start);
  SharedCounter used;
  used.add(used_before);
  const std::int64_t slack = start.empty() ? 0 : recorded(path) - used_before;
  const Ending ending = execute_in_child({.path = path, .block = kBlock, .used = &used}, faulty);
  const std::string name =
      fmt::format("fault {} at call {}", static_cast<int>(faulty.fault), faulty.call);
  const std::int64_t most = slack + (ending == Ending::kStopped ? 0 : kBlock);
  EXPECT_GE(recorded(path), used.value()) << name;
  EXPECT_LE(recorded(path), used.value() + most) << name;
  EXPECT_EQ(execute_in_child({.path = path, .block = kBlock, .used = &used}, {}), Ending::kStopped)
      << name;
  EXPECT_GE(recorded(path), used.value()) << name;
  EXPECT_LE(recorded(path), used.value() + most) << name;
  EXPECT_FALSE(privacy::read_ledger(path).torn) << name;
  return ending != Ending::kStopped;
}

// Every fault at every call, until a call is so late that the run does not make it. The number of
// calls that were hit.
std::int64_t try_all(Fault fault, const std::string& start, std::int64_t used_before) {
  std::int64_t call = 0;
  while (survives(start, used_before, {.call = call, .fault = fault})) ++call;
  return call;
}

TEST_F(LedgerFaults, CountsEnoughWhereverTheRunDiesOrTheDiskFails) {
  constexpr std::int64_t kCalls = 11;  // two for each line, one for the folder
  for (const Fault fault : {Fault::kDieBefore, Fault::kDieHalfway, Fault::kDieAfter, Fault::kFail})
    EXPECT_EQ(try_all(fault, "", 0), kCalls) << static_cast<int>(fault);
  for (std::int64_t call = 0; call < kCalls; ++call)
    survives("", 0, {.call = call, .fault = Fault::kFailHalfway});
}

// The certificate is about the plan: wherever the run dies, and however often it goes on, no more
// than that is released.
TEST_F(LedgerFaults, APlanCoversWhatIsReleasedWhereverTheRunDies) {
  constexpr std::int64_t kPlanned = 25;
  constexpr std::int64_t kCalls = 13;  // two more, for the plan
  for (const Fault fault :
       {Fault::kDieBefore, Fault::kDieHalfway, Fault::kDieAfter, Fault::kFail}) {
    for (std::int64_t call = 0; call <= kCalls; ++call) {
      const TemporaryFolder folder;
      SharedCounter used;
      const faults::Run run{.path = folder.path() / "ledger.jsonl",
                            .block = kBlock,
                            .planned = kPlanned,
                            .used = &used};
      const std::string name = fmt::format("fault {} at call {}", static_cast<int>(fault), call);
      const Ending ending = execute_in_child(run, {.call = call, .fault = fault});
      EXPECT_EQ(ending == Ending::kStopped, call >= kCalls) << name;
      for (int again = 0; again < 3; ++again)
        EXPECT_EQ(execute_in_child(run, {}), Ending::kStopped) << name;
      const privacy::LedgerRecord record = privacy::read_ledger(run.path);
      EXPECT_EQ(record.plans.size(), 1U) << name;
      EXPECT_EQ(privacy::certified_count(record, "training"), kPlanned) << name;
      EXPECT_EQ(record.left("training", kStep), 0) << name;
      EXPECT_LE(used.value(), kPlanned) << name;
      EXPECT_GE(used.value(), kPlanned - kBlock) << name;
    }
  }
}

// The folder's fsync, which is not the ledger's own, is not tried again.
TEST_F(LedgerFaults, GoesOnAfterAnInterruptedOrShortCall) {
  constexpr std::int64_t kCalls = 11;
  constexpr std::int64_t kFolder = 2;
  for (std::int64_t call = 0; call < kCalls; ++call) {
    EXPECT_FALSE(survives("", 0, {.call = call, .fault = Fault::kShort})) << call;
    if (call == kFolder) continue;
    EXPECT_FALSE(survives("", 0, {.call = call, .fault = Fault::kInterrupt})) << call;
  }
}

// Where a line that was used in full is cut, not only one that was never synchronised.
TEST_F(LedgerFaults, CountsEnoughWhereverARecoveryIsCutShort) {
  const std::string whole = whole_ledger();
  const std::int64_t used = 3 * (kBlock - 3);
  for (const std::size_t missing : {1U, 100U, 200U})
    for (const Fault fault :
         {Fault::kDieBefore, Fault::kDieHalfway, Fault::kDieAfter, Fault::kFail})
      EXPECT_EQ(try_all(fault, whole.substr(0, whole.size() - missing), used), 14);
}

TEST_F(LedgerFaults, NothingGoesOnAfterAWriteThatFailed) {
  for (const std::int64_t call : {0, 1}) {
    for (const Fault fault : {Fault::kFail, Fault::kFailHalfway}) {
      std::filesystem::remove(path());
      Ledger ledger = Ledger::create(path(), some_header());
      Reservation paid = ledger.reserve("training", with_count(kStep, kBlock));
      plan() = {.call = call, .fault = fault};
      EXPECT_THROW(ledger.reserve("training", kStep), DataError);
      plan() = {};
      EXPECT_THROW(ledger.reserve("training", kStep), DataError);
      EXPECT_THROW(paid.take(), DataError);
      EXPECT_THROW(paid.settle(), DataError);
      EXPECT_THROW(static_cast<void>(ledger.spent()), DataError);
      EXPECT_THROW(static_cast<void>(ledger.head()), DataError);
      EXPECT_GE(recorded(path()), kBlock);
    }
  }
}

TEST_F(LedgerFaults, AFailedCreationLeavesNothing) {
  for (const std::int64_t call : {0, 1}) {
    plan() = {.call = call, .fault = Fault::kFail};
    EXPECT_THROW(Ledger::create(path(), some_header()), DataError);
    EXPECT_TRUE(std::filesystem::is_empty(path().parent_path()));
  }
}

// What a power cut leaves of a line whose fsync had not returned: any beginning of it, then
// perhaps NULs. By then everything of the lines before may have been used, and nothing of it.
TEST_F(LedgerFaults, CountsEnoughWhereverAPowerCutEndsTheFile) {
  const std::string whole = whole_ledger();
  std::string synced;
  for (const std::string& line : privacy::lines_of(whole)) {
    for (std::size_t size = 0; !synced.empty() && size <= line.size(); ++size) {
      const std::int64_t before = times(read_ledger_text(synced).spent(), kStep);
      const std::string cut = synced + line.substr(0, size);
      const std::string zeroes(line.size() - size, '\0');
      const std::int64_t now = times(read_ledger_text(cut).spent(), kStep);
      // A whole settlement is the one line that may lower the count.
      const bool is_whole = size == line.size();
      EXPECT_GE(now, is_whole ? before - 3 : before);
      EXPECT_LE(now, before + kBlock);
      EXPECT_EQ(times(read_ledger_text(cut + zeroes).spent(), kStep),
                size == 0 ? before + (before > 0 ? kBlock : 0) : now);
      if (size % 8 != 0 && !is_whole) continue;  // the disk is slow
      put(path(), cut + zeroes);
      Ledger ledger = Ledger::open(path());
      EXPECT_GE(times(ledger.spent(), kStep), now);
      EXPECT_FALSE(privacy::read_ledger(path()).torn);
    }
    synced += line;
  }
}

std::int64_t kills_wanted() {
  constexpr std::int64_t kFew = 400;
  const char* text = std::getenv("OBOL_KILLS");
  return text == nullptr ? kFew : parse_integer(text).value_or(kFew);
}

bool is_whole(const Path& path) {
  return std::filesystem::exists(path) && !privacy::read_ledger(path).torn;
}

// One ledger that lives through several kills, at random instants.
struct Lives {
  std::int64_t killed = 0;
  std::int64_t stopped = 0;
  std::int64_t torn = 0;
  std::int64_t excess = 0;
  std::int64_t used = 0;

  void live(const Path& path, RandomBits& bits) {
    constexpr int kRuns = 25;
    constexpr std::uint64_t kLongest = 4000;  // microseconds
    SharedCounter counter;
    const auto block = static_cast<std::int64_t>(1 + bits.below(20));
    std::int64_t cuts = 0;
    for (int i = 0; i < kRuns; ++i) {
      if (bits.below(5) == 0 && is_whole(path)) {
        std::ofstream(path, std::ios::app) << R"({"kind":"reserve","seq)";
        ++cuts;
        ++torn;
      }
      const auto steps = static_cast<std::int64_t>(1 + bits.below(1000));
      const auto lifetime = static_cast<std::int64_t>(bits.below(kLongest));
      const Ending ending = execute_in_child(
          {.path = path, .block = block, .steps = steps, .used = &counter}, {}, lifetime);
      ASSERT_NE(ending, Ending::kRefused);
      ++(ending == Ending::kKilled ? killed : stopped);
      cuts += ending == Ending::kKilled ? 1 : 0;
      ASSERT_GE(recorded(path), counter.value());
      ASSERT_LE(recorded(path), counter.value() + cuts * block);
    }
    used += counter.value();
    excess += recorded(path) - counter.value();
  }
};

TEST_F(LedgerFaults, CountsEnoughWhenKilledAtRandomInstants) {
  SeededBits bits(1);
  Lives lives;
  for (int i = 0; lives.killed < kills_wanted() && !HasFatalFailure(); ++i)
    lives.live(path().string() + std::to_string(i), bits);
  std::cout << fmt::format(
      "{} runs killed, {} stopped, {} torn lines; {} steps used, {} counted too much\n",
      lives.killed, lives.stopped, lives.torn, lives.used, lives.excess);
}

}  // namespace
}  // namespace obol::faults
