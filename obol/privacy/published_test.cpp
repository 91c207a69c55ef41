#include "obol/privacy/published.h"

#include <gtest/gtest.h>

#include "obol/privacy/ledger_testing.h"

namespace obol::privacy {
namespace {

const Event kCountedStep =
    SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 1, .count = 1};
const PublishedCount kSound{.paper = "A Paper",
                            .purpose = "training",
                            .per_release = kCountedStep,
                            .outputs_per_step = 1,
                            .holds = true};

class Published : public ::testing::Test {
 protected:
  PublishedEpsilon of_ledger() {
    return account_as_published(kSound, released_in(ledger.record()), Delta{1e-5});
  }
  TemporaryFolder folder;
  Path path = folder.path() / "ledger.jsonl";
  Ledger ledger = Ledger::create(path, some_header());
};

TEST_F(Published, IsAGuaranteeOnlyForTheSameReleases) {
  ledger.reserve("training", with_count(kCountedStep, 300));
  EXPECT_TRUE(of_ledger().is_a_guarantee());
  EXPECT_NE(in_words(of_ledger(), 1).find("holds as well"), std::string::npos);
  const double before = of_ledger().epsilon;

  ledger.reserve("validation accuracy", Gaussian{1, 1});
  const PublishedEpsilon published = of_ledger();
  EXPECT_EQ(published.epsilon, before);
  EXPECT_EQ(published.left_out, std::vector<std::string>{"validation accuracy"});
  EXPECT_FALSE(published.is_a_guarantee());
  EXPECT_EQ(in_words(published, 4.7).find("holds as well"), std::string::npos);
  EXPECT_NE(in_words(published, 4.7).find("it leaves out what else was released: validation"),
            std::string::npos);
}

TEST_F(Published, LeavesOutTrainingByAnotherMechanism) {
  ledger.reserve("training", with_count(kCountedStep, 300));
  ledger.reserve("training", SampledGaussian{0.01, 0.5, 300});
  EXPECT_FALSE(of_ledger().is_a_guarantee());
  EXPECT_EQ(of_ledger().releases, 300);
}

TEST_F(Published, LeavesOutWhatWasRecovered) {
  ledger.reserve("training", with_count(kCountedStep, 300));
  const Path copy = folder.path() / "copy.jsonl";
  write_file(copy, read_text(path, 1 << 20) + R"({"kind":"res)");
  const auto of = [](const LedgerRecord& record) {
    return account_as_published(kSound, released_in(record), Delta{1e-5});
  };
  EXPECT_FALSE(of(read_ledger(copy)).is_a_guarantee()) << "torn";
  EXPECT_FALSE(of(Ledger::open(copy).record()).is_a_guarantee()) << "recovered";
}

TEST_F(Published, IsNoGuaranteeForTheReasonThatItsCountHas) {
  PublishedCount count = kSound;
  count.holds = false;
  count.reason = "it forgets something";
  ledger.reserve("training", with_count(kCountedStep, 300));
  const auto published = account_as_published(count, released_in(ledger.record()), Delta{1e-5});
  EXPECT_NE(in_words(published, 4.7).find("not a guarantee: it forgets something. "),
            std::string::npos);
}

TEST_F(Published, CountsAreTheSameUpToTheRoundingOfACalibration) {
  PublishedCount other = kSound;
  other.per_release = SampledGaussian{0.01, 1 + 1e-9, 1};
  EXPECT_TRUE(is_same_count(kSound, other));
  other.per_release = SampledGaussian{0.01, 1 + 1e-3, 1};
  EXPECT_FALSE(is_same_count(kSound, other));
}

}  // namespace
}  // namespace obol::privacy
