#include "obol/privacy/registry.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "obol/base/error.h"
#include "obol/privacy/ledger_testing.h"

namespace obol::privacy {
namespace {

namespace fs = std::filesystem;

const Event kUsedSteps =
    SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 1, .count = 100};
const Delta kUseDelta{1e-5};

class Registered : public ::testing::Test {
 protected:
  // A run folder with a ledger that has a plan.
  Path run(const std::string& name, Neighbours neighbours = Neighbours::kAddRemove) {
    const Path folder = temporary.path() / name;
    fs::create_directory(folder);
    LedgerHeader header = some_header(neighbours);
    header.fingerprint += name;  // as another key would do
    Ledger ledger = Ledger::create(folder / "ledger.jsonl", header);
    ledger.plan({{"training", kEvent.at(neighbours)}});
    return folder;
  }
  static LedgerRecord ledger_of(const Path& folder) { return read_ledger(folder / "ledger.jsonl"); }
  void record(const Path& folder) const {
    const LedgerRecord ledger = ledger_of(folder);
    registry.record("data", use_of(folder, ledger, stages_of(ledger), kUseDelta));
  }
  static void reserve(const Path& folder) {
    Ledger ledger = Ledger::open(folder / "ledger.jsonl");
    ledger.reserve("training", with_count(ledger.record().plans[0].releases[0].event, 1));
  }
  std::string refusal(const Path& folder) const {
    try {
      registry.require_only_copy("data", folder, ledger_of(folder));
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  }
  [[nodiscard]] Path file() const {
    for (const auto& entry : fs::directory_iterator(temporary.path() / "ledgers"))
      if (entry.path().extension() == ".jsonl") return entry.path();
    return {};
  }

  inline static const std::map<Neighbours, Event> kEvent = {
      {Neighbours::kAddRemove, kUsedSteps},
      {Neighbours::kReplaceOne, Gaussian{.noise_multiplier = 5, .count = 3}}};
  TemporaryFolder temporary;
  Registry registry{temporary.path() / "ledgers"};
};

TEST_F(Registered, IsForItsOwnerAndHasOneKey) {
  struct stat status {};
  ASSERT_EQ(stat((temporary.path() / "ledgers").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700U);
  ASSERT_EQ(stat((temporary.path() / "ledgers" / "key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const Registry again(temporary.path() / "ledgers");
  EXPECT_TRUE(std::equal(again.key().begin(), again.key().end(), registry.key().begin()));
  const Registry other(temporary.path() / "others");
  EXPECT_FALSE(std::equal(other.key().begin(), other.key().end(), registry.key().begin()));
}

TEST_F(Registered, ARunCountsAfterItsFolderIsGone) {
  record(run("a"));
  fs::remove_all(temporary.path() / "a");
  const std::vector<Use> uses = registry.uses("data");
  ASSERT_EQ(uses.size(), 1U);
  ASSERT_EQ(totals(uses).size(), 1U);
  EXPECT_EQ(totals(uses)[0].epsilon, account({kUsedSteps}, kUseDelta).epsilon);
  EXPECT_TRUE(registry.uses("other data").empty());
}

TEST_F(Registered, ALaterRecordTakesThePlaceOfEarlierOnesOfTheSameLedger) {
  const Path a = run("a");
  record(a);
  record(run("b"));
  Ledger::open(a / "ledger.jsonl").plan({{"more", Gaussian{.noise_multiplier = 9, .count = 1}}});
  record(a);
  const std::vector<Use> uses = registry.uses("data");
  ASSERT_EQ(uses.size(), 2U);
  EXPECT_EQ(uses[0].id, ledger_of(a).hashes.front());
  EXPECT_EQ(uses[0].stages.size(), 2U);
  EXPECT_EQ(uses[0].head, ledger_of(a).head());
  EXPECT_EQ(uses[1].stages.size(), 1U);
}

TEST_F(Registered, RunsAddUpUnderOneNotionOfNeighboursOnly) {
  for (const char* name : {"a", "b"}) record(run(name));
  record(run("c", Neighbours::kReplaceOne));
  const std::vector<UseTotal> sums = totals(registry.uses("data"));
  ASSERT_EQ(sums.size(), 2U);
  EXPECT_EQ(sums[0].runs, 2);
  EXPECT_NEAR(sums[0].epsilon, 2 * account({kUsedSteps}, Delta{5e-6}).epsilon, 1e-9);
  EXPECT_GT(sums[0].epsilon, account({with_count(kUsedSteps, 200)}, kUseDelta).epsilon);
  EXPECT_EQ(sums[1].neighbours, Neighbours::kReplaceOne);
  EXPECT_EQ(sums[1].runs, 1);
  const std::string words = in_words(sums);
  EXPECT_TRUE(words.starts_with("these data were used 3 times before on this machine: epsilon at "))
      << words;
  const std::string own = registry.uses("data")[2].id;
  EXPECT_EQ(totals(registry.uses("data"), own).size(), 1U) << "one's own run is left out";
  EXPECT_EQ(in_words(std::vector<UseTotal>{}), "");
}

TEST_F(Registered, AForkIsRecognised) {
  const Path a = run("a");
  EXPECT_EQ(refusal(a), "") << "nobody knows it yet";
  record(a);
  EXPECT_EQ(refusal(a), "");
  const Path copy = temporary.path() / "copy";
  fs::copy(a, copy);
  EXPECT_NE(refusal(copy).find("is a copy of a run that is at " + a.string()), std::string::npos)
      << refusal(copy);
  EXPECT_EQ(refusal(a), "");
  reserve(a);
  EXPECT_EQ(refusal(a), "") << "it goes on";
  record(a);
  fs::remove_all(a);
  EXPECT_NE(refusal(copy).find("went on at " + a.string()), std::string::npos)
      << "the copy lacks what the original has paid since";
}

TEST_F(Registered, AMovedFolderGoesOn) {
  const Path a = run("a");
  record(a);
  reserve(a);
  const Path moved = temporary.path() / "moved";
  fs::rename(a, moved);
  EXPECT_EQ(refusal(moved), "");
  record(moved);
  EXPECT_EQ(registry.uses("data")[0].folder, fs::weakly_canonical(moved));
}

TEST_F(Registered, ATornRecordIsNoneAndADamagedOneIsNamed) {
  record(run("a"));
  std::ofstream(file(), std::ios::app) << R"({"id":"half of)";
  EXPECT_EQ(registry.uses("data").size(), 1U);
  record(run("b"));
  EXPECT_EQ(registry.uses("data").size(), 2U);
  std::ofstream(file(), std::ios::app) << "something else\n";
  try {
    static_cast<void>(registry.uses("data"));
    ADD_FAILURE() << "it was read";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find(".jsonl:4)"), std::string::npos) << error.what();
  }
}

TEST_F(Registered, LinksAreNotFollowed) {
  record(run("a"));
  const Path aside = temporary.path() / "aside";
  const Path path = file();
  fs::rename(path, aside);
  fs::create_symlink(aside, path);
  EXPECT_THROW(static_cast<void>(registry.uses("data")), DataError);
  EXPECT_THROW(record(run("b")), DataError);
}

}  // namespace
}  // namespace obol::privacy
