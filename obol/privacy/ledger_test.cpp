#include "obol/privacy/ledger.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "obol/base/sha256.h"
#include "obol/base/version.h"
#include "obol/privacy/ledger_line.h"
#include "obol/privacy/ledger_testing.h"

namespace obol::privacy {
namespace {

namespace fs = std::filesystem;

const Event kStep = SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 0.8, .count = 10};
const Event kHistogram = Gaussian{.noise_multiplier = 20, .count = 1};

template <class Problem, class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const Problem& error) {
    return error.what();
  }
  return "no error";
}

class LedgerTest : public ::testing::Test {
 protected:
  [[nodiscard]] const Path& path() const { return path_; }
  [[nodiscard]] std::string text() const { return read_text(path_, kMaxLedgerBytes); }
  void append_raw(std::string_view bytes) const {
    std::ofstream(path_, std::ios::app | std::ios::binary) << bytes;
  }

 private:
  TemporaryFolder folder_;
  Path path_ = folder_.path() / "ledger.jsonl";
};

TEST_F(LedgerTest, SaysWhatItIsAbout) {
  Ledger::create(path(), some_header(Neighbours::kReplaceOne));
  const LedgerRecord record = read_ledger(path());
  EXPECT_EQ(record.header, some_header(Neighbours::kReplaceOne));
  EXPECT_EQ(record.version, obol::version());
  EXPECT_EQ(record.commit, obol::commit());
  EXPECT_EQ(record.opened.size(), 20U);
  EXPECT_TRUE(record.entries.empty());
  EXPECT_TRUE(record.spent().empty());
}

TEST_F(LedgerTest, CountsWhatWasPaidByPurposeAndMechanism) {
  Ledger ledger = Ledger::create(path(), some_header());
  Reservation steps = ledger.reserve("training", kStep);
  steps.take(3);
  steps.settle();
  ledger.reserve("training", kStep);
  ledger.reserve("training", kHistogram);
  ledger.reserve("validation accuracy", kStep);
  EXPECT_EQ(ledger.record().paid("training", kStep), 13);
  EXPECT_EQ(ledger.record().paid("training", kHistogram), 1);
  EXPECT_EQ(ledger.record().paid("validation accuracy", kHistogram), 0);
  append_raw(R"({"kind":"reserve","seq)");  // counts as spent, and pays for nothing
  EXPECT_EQ(read_ledger(path()).paid("training", kStep), 13);
}

// Replacing a record moves two counts, and the noise is stated for one.
TEST_F(LedgerTest, RefusesAClassHistogramAmongReplacedRecords) {
  Ledger ledger = Ledger::create(path(), some_header(Neighbours::kReplaceOne));
  EXPECT_THROW(ledger.reserve("class histogram", kHistogram), UnsupportedEvent);
  EXPECT_NO_THROW(ledger.reserve("validation accuracy", kHistogram));
  EXPECT_EQ(read_ledger(path()).entries.size(), 1U);
}

TEST_F(LedgerTest, KeepsTurns) {
  Ledger ledger = Ledger::create(path(), some_header());
  EXPECT_FALSE(ledger.record().turns);
  const LedgerTurns turns{.schedule = "cyclic", .shards = 4, .reserved = 100};
  ledger.reserve_turns(turns);
  EXPECT_EQ(read_ledger(path()).turns, turns);
  EXPECT_THROW(ledger.reserve_turns({.schedule = "cyclic", .shards = 5, .reserved = 0}),
               InvalidArgument);
  EXPECT_THROW(ledger.reserve_turns({.schedule = "cyclic", .shards = 4, .reserved = 201}),
               InvalidArgument);
  ledger.reserve_turns({.schedule = "cyclic", .shards = 4, .reserved = 37});
  EXPECT_EQ(read_ledger(path()).turns->reserved, 37);
  EXPECT_TRUE(read_ledger(path()).entries.empty());
}

TEST_F(LedgerTest, ItemisesWhatIsReserved) {
  Ledger ledger = Ledger::create(path(), some_header());
  ledger.reserve("class histogram", kHistogram);
  ledger.reserve("training", kStep);
  const LedgerRecord record = read_ledger(path());
  ASSERT_EQ(record.entries.size(), 2U);
  EXPECT_EQ(record.entries[0].purpose, "class histogram");
  EXPECT_EQ(record.entries[1].sequence, 2);
  EXPECT_EQ(describe(*record.entries[1].event), describe(kStep));
  EXPECT_FALSE(record.entries[1].used);
}

TEST_F(LedgerTest, IsOnDiskBeforeReserveReturns) {
  Ledger ledger = Ledger::create(path(), some_header());
  for (int i = 1; i <= 3; ++i) {
    const Reservation paid = ledger.reserve("training", kStep);
    EXPECT_EQ(times(read_ledger(path()).spent(), kStep), 10 * i);
  }
}

TEST_F(LedgerTest, CountsTheWholeReservationUntilItIsSettled) {
  Ledger ledger = Ledger::create(path(), some_header());
  Reservation paid = ledger.reserve("training", kStep);
  paid.take(3);
  EXPECT_EQ(times(ledger.spent(), kStep), 10);
  paid.settle();
  EXPECT_EQ(times(ledger.spent(), kStep), 3);
  EXPECT_EQ(read_ledger(path()).entries[0].used, 3);
  EXPECT_EQ(times(read_ledger(path()).spent(), kStep), 3);
}

TEST_F(LedgerTest, DroppingAReservationSettlesNothing) {
  Ledger ledger = Ledger::create(path(), some_header());
  {
    Reservation paid = ledger.reserve("training", kStep);
    paid.take();
    paid = ledger.reserve("training", kStep);
  }
  EXPECT_EQ(times(read_ledger(path()).spent(), kStep), 20);
}

TEST_F(LedgerTest, MergesEqualMechanismsInOrderOfAppearance) {
  Ledger ledger = Ledger::create(path(), some_header());
  ledger.reserve("training", kStep);
  ledger.reserve("class histogram", kHistogram);
  ledger.reserve("training", with_count(kStep, 5));
  Reservation unused = ledger.reserve("scores", Laplace{3, 4});
  unused.settle();
  for (const LedgerRecord& record : {ledger.record(), read_ledger(path())}) {
    const std::vector<Event> spent = record.spent();
    ASSERT_EQ(spent.size(), 2U);
    EXPECT_EQ(describe(spent[0]), describe(with_count(kStep, 15)));
    EXPECT_EQ(describe(spent[1]), describe(kHistogram));
  }
}

TEST_F(LedgerTest, ReservationHandsOutWhatIsPaidAndNoMore) {
  Ledger ledger = Ledger::create(path(), some_header());
  Reservation paid = ledger.reserve("training", kStep);
  paid.take();
  paid.take(8);
  EXPECT_EQ(paid.taken(), 9);
  EXPECT_EQ(paid.left(), 1);
  EXPECT_EQ(error_of<Error>([&] { paid.take(2); }),
            "what is taken must be 0 to 1, as is paid and left, but is 2");
  EXPECT_THROW(paid.take(-1), Error);
  EXPECT_EQ(paid.taken(), 9);
  paid.take();
  EXPECT_THROW(paid.take(), Error);
}

TEST_F(LedgerTest, ReservationIsOverOnceSettledOrMoved) {
  Ledger ledger = Ledger::create(path(), some_header());
  Reservation paid = ledger.reserve("training", kStep);
  Reservation moved = std::move(paid);
  EXPECT_EQ(paid.left(), 0);  // NOLINT(bugprone-use-after-move): what is left is the question
  EXPECT_THROW(paid.take(), Error);
  moved.settle();
  EXPECT_EQ(moved.left(), 0);
  EXPECT_THROW(moved.take(), Error);
  EXPECT_THROW(moved.settle(), Error);
  EXPECT_EQ(Reservation().left(), 0);
}

TEST_F(LedgerTest, RefusesWhatCannotBeMeantAndGoesOn) {
  Ledger ledger = Ledger::create(path(), some_header());
  EXPECT_THROW(ledger.reserve("training", SampledGaussian{1.5, 1, 1}), InvalidArgument);
  EXPECT_THROW(ledger.reserve("training", with_count(kStep, 0)), InvalidArgument);
  EXPECT_THROW(ledger.reserve("training", with_count(kStep, kMaxCount + 1)), InvalidArgument);
  EXPECT_THROW(ledger.reserve("", kStep), InvalidArgument);
  EXPECT_THROW(ledger.reserve("two\nlines", kStep), InvalidArgument);
  EXPECT_THROW(ledger.reserve("\xff", kStep), InvalidArgument);
  EXPECT_THROW(ledger.reserve(std::string(kMaxTextBytes + 1, 'x'), kStep), InvalidArgument);
  EXPECT_THROW(ledger.reserve("training", ShardGaussian{0.5, 1, 1}), UnsupportedEvent);
  EXPECT_TRUE(read_ledger(path()).entries.empty());
  ledger.reserve(R"(quoted "so" and \ so, naïve)", kStep);
  EXPECT_EQ(read_ledger(path()).entries[0].purpose, R"(quoted "so" and \ so, naïve)");
}

TEST_F(LedgerTest, RefusesAHeaderThatCannotBeMeant) {
  LedgerHeader header = some_header(Neighbours::kAsStated);
  EXPECT_THROW(Ledger::create(path(), header), InvalidArgument);
  header = some_header();
  header.records = 0;
  EXPECT_THROW(Ledger::create(path(), header), InvalidArgument);
  header = some_header();
  header.fingerprint.clear();
  EXPECT_THROW(Ledger::create(path(), header), InvalidArgument);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(LedgerTest, LongestPossibleLinesFit) {
  LedgerHeader header = some_header();
  header.fingerprint = header.randomness = std::string(kMaxTextBytes, '"');
  Ledger ledger = Ledger::create(path(), header);
  ledger.reserve(std::string(kMaxTextBytes, '\\'),
                 SampledGaussian{1.2345678901234567e-300, 1.2345678901234567e-300, kMaxCount});
  EXPECT_EQ(read_ledger(path()).entries.size(), 1U);
}

TEST_F(LedgerTest, IsNotCreatedOverAFile) {
  write_file(path(), "precious");
  EXPECT_EQ(error_of<DataError>([&] { Ledger::create(path(), some_header()); }),
            path().string() + " must be new, but is there already");
  EXPECT_EQ(text(), "precious");
  const auto files = fs::directory_iterator(path().parent_path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1) << "nothing is left aside";
}

TEST_F(LedgerTest, NamesAPathThatCannotBeWritten) {
  const Path nowhere = path().parent_path() / "none" / "ledger.jsonl";
  EXPECT_EQ(error_of<DataError>([&] { Ledger::create(nowhere, some_header()); }),
            "cannot write " + nowhere.string() + ": No such file or directory");
  EXPECT_EQ(error_of<DataError>([&] { Ledger::open(nowhere); }),
            "cannot write " + nowhere.string() + ": No such file or directory");
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(error_of<DataError>([&] { Ledger::open(path()); }),
            path().string() + " must be a regular file, but is something else");
}

TEST_F(LedgerTest, HasOneWriterAtATime) {
  const std::string message =
      path().string() + " must be written by one process at a time, but is open in another";
  {
    const Ledger created = Ledger::create(path(), some_header());
    EXPECT_EQ(error_of<DataError>([&] { Ledger::open(path()); }), message);
  }
  const Ledger opened = Ledger::open(path());
  EXPECT_EQ(error_of<DataError>([&] { Ledger::open(path()); }), message);
  EXPECT_NO_THROW(read_ledger(path()));
}

TEST_F(LedgerTest, ReservationKeepsTheLedgerOpen) {
  Reservation paid = Ledger::create(path(), some_header()).reserve("training", kStep);
  EXPECT_THROW(Ledger::open(path()), DataError);
  paid.take(4);
  paid.settle();
  EXPECT_EQ(times(Ledger::open(path()).spent(), kStep), 4);
}

TEST_F(LedgerTest, ResumedRunPaysAgain) {
  {
    Ledger ledger = Ledger::create(path(), some_header());
    ledger.reserve("training", kStep).take(2);  // and then it crashed
  }
  Ledger ledger = Ledger::open(path(), some_header());
  Reservation paid = ledger.reserve("training", kStep);
  paid.take(2);
  paid.settle();
  EXPECT_EQ(times(ledger.spent(), kStep), 12);
  EXPECT_EQ(times(read_ledger(path()).spent(), kStep), 12);
}

TEST_F(LedgerTest, IsResumedOnlyWithTheSameDataAndRandomness) {
  Ledger::create(path(), some_header());
  LedgerHeader other = some_header();
  other.records = 59'999;
  EXPECT_EQ(error_of<DataError>([&] { Ledger::open(path(), other); }),
            "records must be 60000, as in the ledger, but is 59999 (" + path().string() + ")");
  other = some_header();
  other.fingerprint = "hmac-sha256:4567";
  EXPECT_THROW(Ledger::open(path(), other), DataError);
  other = some_header();
  other.randomness = "secure (OpenSSL)";
  EXPECT_THROW(Ledger::open(path(), other), DataError);
  EXPECT_THROW(Ledger::open(path(), some_header(Neighbours::kPerson)), DataError);
  EXPECT_NO_THROW(Ledger::open(path(), some_header()));
}

TEST_F(LedgerTest, KnowsItsEarlierHeads) {
  Ledger ledger = Ledger::create(path(), some_header());
  const LedgerHead first = ledger.head();
  EXPECT_EQ(first.entries, 1);
  Reservation paid = ledger.reserve("training", kStep);
  const LedgerHead second = ledger.head();
  paid.settle();
  const LedgerRecord record = read_ledger(path());
  EXPECT_EQ(record.head(), ledger.head());
  EXPECT_EQ(record.head().entries, 3);
  for (const LedgerHead& head : {first, second, ledger.head()}) EXPECT_TRUE(record.extends(head));
  EXPECT_FALSE(record.extends({.hash = first.hash, .entries = 2}));
  EXPECT_FALSE(record.extends({.hash = first.hash, .entries = 0}));
  EXPECT_FALSE(record.extends({.hash = second.hash, .entries = 4}));
  EXPECT_FALSE(record.extends({.hash = second.hash, .entries = -1}));
  const std::vector<std::string> lines = lines_of(text());
  EXPECT_FALSE(read_ledger_text(lines[0]).extends(second)) << "the line was dropped";
}

// Computed here once more from the description in the header, on the raw bytes.
TEST_F(LedgerTest, ChainIsAsDescribed) {
  Ledger ledger = Ledger::create(path(), some_header());
  Reservation paid = ledger.reserve("training", kStep);
  paid.settle();
  std::string before;
  for (const std::string& line : lines_of(text())) {
    const std::size_t comma = line.find(R"(,"hash":")");
    Sha256 hash;
    hash.update(before + line.substr(0, comma));
    before = hash.hex();
    EXPECT_EQ(line.substr(comma), R"(,"hash":")" + before + "\"}\n");
  }
  EXPECT_EQ(ledger.head().hash, before);
}

TEST_F(LedgerTest, TornLineCountsAsItsEventWhereThatCanBeRead) {
  Ledger::create(path(), some_header()).reserve("training", kStep);
  append_raw(R"({"kind":"reserve","sequence":2,"time":"2026-01-31T12:00:00Z","purpose":"x",)"
             R"("event":{"mechanism":"Gaussian","noise_multiplier":20,"count":7},"ha)");
  const LedgerRecord record = read_ledger(path());
  ASSERT_TRUE(record.torn);
  EXPECT_EQ(describe(*record.torn->counted), describe(with_count(kHistogram, 7)));
  EXPECT_EQ(times(record.spent(), kHistogram), 7);
  EXPECT_EQ(times(record.spent(), kStep), 10);
}

TEST_F(LedgerTest, TornLineCountsAsTheLastReservationOnceMoreOtherwise) {
  Ledger ledger = Ledger::create(path(), some_header());
  Reservation paid = ledger.reserve("training", kStep);
  paid.take();
  paid.settle();
  for (const std::string& torn :
       {std::string("{"), std::string(3, '\0'), std::string("{\"ki\0\0\0", 7),
        std::string(R"("event":{"mechanism":"Gaussian","noise_multiplier":20,"count":-7})"),
        std::string(R"("event":{"mechanism":"ShardGaussian","sampling_rate":0.5,)"
                    R"("noise_multiplier":1,"count":1})"),
        std::string("\"event\":\xff}"), std::string(R"("event":null})")}) {
    const LedgerRecord record = read_ledger_text(text() + torn);
    ASSERT_TRUE(record.torn) << torn;
    EXPECT_EQ(record.torn->bytes, torn.size());
    EXPECT_EQ(times(record.spent(), kStep), 11) << torn;
    EXPECT_EQ(record.head(), ledger.head()) << "the torn line is no part of the chain";
  }
}

TEST_F(LedgerTest, TornSettlementLeavesItsReservationWhole) {
  Reservation paid = Ledger::create(path(), some_header()).reserve("training", kStep);
  const std::string before = text();
  paid.settle();
  const std::string settlement = text().substr(before.size());
  for (std::size_t size = 1; size < settlement.size(); ++size) {
    const std::int64_t count =
        times(read_ledger_text(before + settlement.substr(0, size)).spent(), kStep);
    EXPECT_EQ(count, size < std::string_view(R"({"kind":"settle",)").size() ? 20 : 10);
  }
}

TEST_F(LedgerTest, TornLineCountsNothingWhereNothingWasReserved) {
  Ledger::create(path(), some_header());
  append_raw(R"({"kind":"reserve","seq)");
  EXPECT_TRUE(read_ledger(path()).torn);
  EXPECT_TRUE(read_ledger(path()).spent().empty());
  EXPECT_TRUE(Ledger::open(path()).spent().empty());
  const LedgerRecord record = read_ledger(path());
  EXPECT_FALSE(record.torn);
  ASSERT_EQ(record.entries.size(), 1U);
  EXPECT_EQ(record.entries[0].kind, LedgerEntryKind::kRecovered);
  EXPECT_FALSE(record.entries[0].event);
}

TEST_F(LedgerTest, OpeningRecordsWhatATornLineCountsAndGoesOn) {
  Ledger::create(path(), some_header()).reserve("training", kStep);
  const LedgerHead before = read_ledger(path()).head();
  append_raw("{\"kind\":\"res");
  const std::string torn = text();
  EXPECT_EQ(times(read_ledger(path()).spent(), kStep), 20);
  EXPECT_EQ(text(), torn) << "reading changes nothing";
  {
    Ledger ledger = Ledger::open(path());
    EXPECT_EQ(times(ledger.spent(), kStep), 20);
    ledger.reserve("training", kStep);
  }
  const LedgerRecord record = read_ledger(path());
  EXPECT_FALSE(record.torn);
  EXPECT_TRUE(record.extends(before));
  ASSERT_EQ(record.entries.size(), 3U);
  EXPECT_EQ(record.entries[1].kind, LedgerEntryKind::kRecovered);
  EXPECT_EQ(times(record.spent(), kStep), 30);
  EXPECT_NE(text().find(R"("torn_bytes":12,"event":{)"), std::string::npos);
}

TEST_F(LedgerTest, OpeningAWholeLedgerChangesNothing) {
  Ledger::create(path(), some_header()).reserve("training", kStep);
  const std::string before = text();
  { const Ledger ledger = Ledger::open(path()); }
  EXPECT_EQ(text(), before);
}

TEST_F(LedgerTest, NoticesWhoeverWritesWithoutTheLock) {
  Ledger ledger = Ledger::create(path(), some_header());
  Reservation paid = ledger.reserve("training", kStep);
  append_raw("x");
  EXPECT_THROW(ledger.reserve("training", kStep), DataError);
  const std::string message = error_of<DataError>([&] { ledger.reserve("training", kStep); });
  EXPECT_NE(message.find("must be opened anew"), std::string::npos) << message;
  EXPECT_THROW(paid.take(), DataError);
  EXPECT_THROW(paid.settle(), DataError);
  EXPECT_THROW(static_cast<void>(ledger.spent()), DataError);
  EXPECT_THROW(static_cast<void>(ledger.head()), DataError);
}

TEST_F(LedgerTest, NoticesThatItWasRemoved) {
  Ledger ledger = Ledger::create(path(), some_header());
  fs::remove(path());
  EXPECT_EQ(error_of<DataError>([&] { ledger.reserve("training", kStep); }),
            path().string() + " must be kept while it is written to, but is removed");
}

TEST_F(LedgerTest, PlansBoundWhatIsReserved) {
  Ledger ledger = Ledger::create(path(), some_header());
  ledger.plan({{"class histogram", kHistogram}, {"training", with_count(kStep, 25)}});
  EXPECT_EQ(ledger.record().left("training", kStep), 25);
  ledger.reserve("class histogram", kHistogram);
  Reservation paid = ledger.reserve("training", kStep);
  EXPECT_EQ(ledger.record().left("training", kStep), 15);
  paid.take(3);
  paid.settle();
  EXPECT_EQ(ledger.record().left("training", kStep), 22) << "what was not used is given back";
  const std::string before = text();
  EXPECT_EQ(error_of<InvalidArgument>([&] { ledger.reserve("training", with_count(kStep, 23)); }),
            "what is reserved for training must be at most 22, as planned and left, but is 23");
  EXPECT_NE(error_of<InvalidArgument>([&] { ledger.reserve("class histogram", kHistogram); }),
            "no error");
  EXPECT_NE(error_of<InvalidArgument>([&] { ledger.reserve("other", kHistogram); }), "no error");
  EXPECT_EQ(text(), before) << "what is refused is not written";
  ledger.plan({{"class histogram", kHistogram}});
  ledger.reserve("class histogram", kHistogram);
  const LedgerRecord record = read_ledger(path());
  EXPECT_TRUE(record.is_planned());
  ASSERT_EQ(record.plans.size(), 2U);
  EXPECT_EQ(record.plans[0].releases.size(), 2U);
  EXPECT_EQ(record.plans[1].releases[0].purpose, "class histogram");
  EXPECT_EQ(record.left("training", kStep), 22);
  EXPECT_EQ(record.left("class histogram", kHistogram), 0);
}

TEST_F(LedgerTest, APlanComesBeforeTheFirstReservation) {
  Ledger ledger = Ledger::create(path(), some_header());
  ledger.reserve("training", kStep);
  EXPECT_EQ(error_of<InvalidArgument>([&] {
              ledger.plan({{"training", kStep}});
            }),
            "a plan must be written before the first reservation, but is after one without a plan");
}

TEST_F(LedgerTest, APlanThatCannotBeReadAgainIsNotWritten) {
  Ledger ledger = Ledger::create(path(), some_header());
  EXPECT_THROW(ledger.plan({}), InvalidArgument);
  EXPECT_THROW(ledger.plan(std::vector<PlannedEvent>(kMaxPlanned + 1, {"x", kStep})),
               InvalidArgument);
  EXPECT_THROW(ledger.plan({{"training", with_count(kStep, 0)}}), InvalidArgument);
  const std::string long_name(kMaxTextBytes, '"');  // two bytes each, in JSON
  EXPECT_THROW(ledger.plan(std::vector<PlannedEvent>(kMaxPlanned, {long_name, kStep})),
               InvalidArgument);
  EXPECT_FALSE(read_ledger(path()).is_planned());
  ledger.plan(std::vector<PlannedEvent>(kMaxPlanned, {"x", kStep}));
  EXPECT_EQ(read_ledger(path()).left("x", kStep), 10 * static_cast<std::int64_t>(kMaxPlanned));
}

TEST_F(LedgerTest, WhatACrashLeavesUsesUpThePlan) {
  {
    Ledger ledger = Ledger::create(path(), some_header());
    ledger.plan({{"training", with_count(kStep, 40)}});
    ledger.reserve("training", kStep).take(1);
  }
  append_raw(R"({"kind":"reserve","sequ)");
  Ledger ledger = Ledger::open(path());
  EXPECT_EQ(ledger.record().left("training", kStep), 20) << "a torn line may have been used";
  for (int k = 0; k < 2; ++k) ledger.reserve("training", kStep);
  EXPECT_EQ(ledger.record().left("training", kStep), 0);
  EXPECT_THROW(ledger.reserve("training", with_count(kStep, 1)), InvalidArgument);
}

TEST_F(LedgerTest, ATornPlanIsNone) {
  std::string line;
  std::string opened;
  {
    Ledger ledger = Ledger::create(path(), some_header());
    opened = text();
    ledger.plan({{"training", kStep}});
    line = text().substr(opened.size());
  }
  for (std::size_t size = 1; size < line.size(); ++size) {
    std::ofstream(path(), std::ios::trunc | std::ios::binary) << opened << line.substr(0, size);
    Ledger ledger = Ledger::open(path());
    EXPECT_FALSE(ledger.record().is_planned()) << size;
    EXPECT_TRUE(ledger.spent().empty()) << size;
    ledger.plan({{"training", kStep}});
    EXPECT_EQ(read_ledger(path()).left("training", kStep), 10) << size;
  }
}

}  // namespace
}  // namespace obol::privacy
