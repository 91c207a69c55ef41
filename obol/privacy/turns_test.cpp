#include "obol/privacy/turns.h"

#include <map>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::privacy {
namespace {

class TurnsTest : public ::testing::TestWithParam<const char*> {
 protected:
  Turns open(std::int64_t shards = 7) const {
    return {{.schedule = GetParam(), .shards = shards, .block = 10}, folder.path() / "turns.json"};
  }
  TemporaryFolder folder;
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
  for (int k = 0; k < 20; ++k) all.next();
  {
    Turns killed = open();
    for (int k = 0; k < 13; ++k) killed.next();
  }
  Turns resumed = open();
  EXPECT_EQ(resumed.given(), 20);
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
  write_file(folder.path() / "turns.json", "{\"turns\":");
  EXPECT_THROW(open(), DataError);
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
