#include "obol/privacy/stages.h"

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/privacy/ledger_testing.h"

namespace obol::privacy {
namespace {

const Delta kDelta{1e-5};
const Event kStageSteps =
    SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 1, .count = 500};
const Event kStageValidation = Gaussian{.noise_multiplier = 10, .count = 1};

Stage stage_of(const Event& event) {
  return {.releases = {{"x", event}}, .is_planned = true, .time = ""};
}

class Staged : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  Path path = folder.path() / "ledger.jsonl";
  Ledger ledger = Ledger::create(path, some_header());
};

TEST_F(Staged, APlanCountsAsAWholeThoughTheRunStoppedEarly) {
  ledger.plan({{"training", kStageSteps}});
  Reservation paid = ledger.reserve("training", with_count(kStageSteps, 100));
  paid.take(30);
  paid.settle();
  const StagedGuarantee found = account_stages(stages_of(read_ledger(path)), kDelta);
  EXPECT_EQ(found.total.epsilon, account({kStageSteps}, kDelta).epsilon);
  EXPECT_EQ(found.stages.size(), 1U);
  EXPECT_EQ(found.stages[0].delta, kDelta.value());
  EXPECT_EQ(certified_count(read_ledger(path), "training"), 500);
}

TEST_F(Staged, WithoutAPlanWhatWasSpentIsOneStage) {
  Reservation paid = ledger.reserve("training", with_count(kStageSteps, 100));
  paid.take(30);
  paid.settle();
  const std::vector<Stage> stages = stages_of(read_ledger(path));
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_FALSE(stages[0].is_planned);
  EXPECT_EQ(account_stages(stages, kDelta).total.epsilon,
            account({with_count(kStageSteps, 30)}, kDelta).epsilon);
  EXPECT_EQ(certified_count(read_ledger(path), "training"), 30);
}

TEST_F(Staged, EpsilonsOfFurtherPlansAddUpAtSharesOfDelta) {
  ledger.plan({{"training", kStageSteps}});
  ledger.plan({{"validation accuracy", kStageValidation}});
  ledger.plan({{"validation accuracy", kStageValidation}});
  const StagedGuarantee found = account_stages(stages_of(read_ledger(path)), kDelta);
  ASSERT_EQ(found.stages.size(), 3U);
  EXPECT_NEAR(found.stages[0].delta, 1e-5 / 2, 1e-19);
  EXPECT_NEAR(found.stages[1].delta, 1e-5 / 6, 1e-19);
  EXPECT_NEAR(found.stages[2].delta, 1e-5 / 3, 1e-19);
  EXPECT_EQ(found.stages[0].epsilon, account({kStageSteps}, Delta{found.stages[0].delta}).epsilon);
  double sum = 0;
  for (const StageCost& cost : found.stages) sum += cost.epsilon;
  EXPECT_GE(found.total.epsilon, sum);
  EXPECT_NEAR(found.total.epsilon, sum, 1e-12);
  const Guarantee together = account({kStageSteps, with_count(kStageValidation, 2)}, kDelta);
  EXPECT_GT(found.total.epsilon, together.epsilon);
  EXPECT_EQ(found.total.epsilon_lower, together.epsilon_lower);
}

// Or an earlier certificate would have said too much.
TEST_F(Staged, AFurtherStageNeverLowersWhatIsCertified) {
  std::vector<Stage> stages;
  double before = 0;
  for (int k = 0; k < 12; ++k) {
    stages.push_back(stage_of(k % 3 == 0 ? kStageSteps : kStageValidation));
    const double now = account_stages(stages, kDelta).total.epsilon;
    EXPECT_GT(now, before);
    before = now;
  }
}

TEST_F(Staged, SharesNeverExceedDelta) {
  std::vector<Stage> stages;
  for (int k = 1; k <= 60; ++k) {
    stages.push_back(stage_of(kStageValidation));
    double sum = 0;
    for (const StageCost& cost : account_stages(stages, kDelta).stages) sum += cost.delta;
    EXPECT_LE(sum, kDelta.value()) << k;
    EXPECT_NEAR(sum, kDelta.value(), 1e-17) << k;
  }
}

TEST_F(Staged, PureStagesTakeNoShareOfDelta) {
  const Event pure = Laplace{.scale = 2, .count = 3};
  const StagedGuarantee found =
      account_stages({stage_of(pure), stage_of(kStageValidation)}, kDelta);
  EXPECT_EQ(found.stages[0].delta, 0);
  EXPECT_NEAR(found.stages[0].epsilon, 1.5, 1e-6);
  EXPECT_EQ(found.stages[1].delta, kDelta.value());
  EXPECT_EQ(account_stages({stage_of(pure)}, Delta{0}).total.epsilon,
            account({pure}, Delta{0}).epsilon);
}

TEST_F(Staged, NothingIsNothing) {
  EXPECT_EQ(account_stages(stages_of(read_ledger(path)), kDelta).total.epsilon, 0);
}

}  // namespace
}  // namespace obol::privacy
