#include "obol/privacy/turns.h"

#include <map>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/privacy/ledger_testing.h"

namespace obol::privacy {
namespace {

class TurnsTest : public ::testing::TestWithParam<const char*> {
 protected:
  Turns open(std::int64_t shards = 7, std::int64_t paid = 0) {
    return {{.schedule = GetParam(), .shards = shards}, ledger, paid};
  }
  TemporaryFolder folder;
  Ledger ledger =
      Ledger::create(folder.path() / "ledger.jsonl", some_header(Neighbours::kReplaceOne));
};

TEST_P(TurnsTest, CountTheUsesOfEachShard) {
  Turns turns = open();
  std::map<std::int64_t, std::int64_t> uses;
  std::int64_t most = 0;
  for (int k = 0; k < 100; ++k) {
    const Turn turn = turns.next();
    EXPECT_EQ(turn.use, ++uses[turn.shard]);
    most = std::max(most, turn.use);
  }
  EXPECT_EQ(uses.size(), 7);
  EXPECT_EQ(most, most_uses(GetParam(), 7, 100));
}

// Whatever a killed run has given is not given again, and counts.
TEST_P(TurnsTest, AfterAKillGoOnBehindWhatWasReserved) {
  Turns all({.schedule = GetParam(), .shards = 7}, folder.path() / "all.json");
  for (int k = 0; k < 200; ++k) all.next();
  {
    Turns killed = open();
    for (int k = 0; k < 113; ++k) killed.next();
  }
  Turns resumed = open();
  EXPECT_EQ(resumed.given(), 200);
  const Turn turn = resumed.next();
  const Turn expected = all.next();
  EXPECT_EQ(turn.shard, expected.shard);
  EXPECT_EQ(turn.use, expected.use);
}

TEST_P(TurnsTest, AfterASettlementLoseNothing) {
  {
    Turns stopped = open();
    for (int k = 0; k < 13; ++k) stopped.next();
    stopped.settle();
  }
  EXPECT_EQ(open().given(), 13);
}

TEST_P(TurnsTest, RefuseARecordOfOtherShards) {
  open().next();
  EXPECT_THROW(open(8), DataError);
  const Path file = folder.path() / "turns.json";
  Turns({.schedule = GetParam(), .shards = 7}, file).next();
  EXPECT_THROW(Turns({.schedule = GetParam(), .shards = 8}, file), DataError);
  write_file(file, "{\"turns\":");
  EXPECT_THROW(Turns({.schedule = GetParam(), .shards = 7}, file), DataError);
}

TEST_P(TurnsTest, RefuseALedgerThatHasMoreAnswersThanTurns) {
  EXPECT_THROW(open(7, 1), DataError);
  Turns turns = open();
  for (int k = 0; k < 60; ++k) turns.next();
  turns.settle();
  const std::int64_t most = most_uses(GetParam(), 7, 60);
  EXPECT_EQ(open(7, most).given(), 60);
  EXPECT_THROW(open(7, most + 1), DataError);
}

// The line that was lost may have reserved a block.
TEST_P(TurnsTest, GoOnBehindABlockThatTheLedgerMayHaveLost) {
  Turns turns = open();
  for (int k = 0; k < 60; ++k) turns.next();
  turns.settle();
  const Path copy = folder.path() / "copy.jsonl";
  write_file(copy, read_text(folder.path() / "ledger.jsonl", 1 << 20) + R"({"kind":"tu)");
  Ledger torn = Ledger::open(copy);
  EXPECT_EQ(Turns({.schedule = GetParam(), .shards = 7}, torn, 0).given(), 60 + kTurnsBlock);
}

INSTANTIATE_TEST_SUITE_P(Schedules, TurnsTest, ::testing::Values("cyclic", "uniform"),
                         [](const auto& schedule) { return std::string(schedule.param); });

TEST(TurnsByDraw, AreEven) {
  std::map<std::int64_t, int> uses;
  constexpr int kTurns = 20000;
  for (int k = 0; k < kTurns; ++k) ++uses[shard_at("uniform", 10, k)];
  // Within 5 standard deviations: a false alarm in some 200,000 generators.
  for (const auto& [shard, count] : uses) EXPECT_NEAR(count, 2000, 5 * 42.5) << shard;
}

}  // namespace
}  // namespace obol::privacy
