#include "obol/privacy/guard.h"

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/privacy/ledger_testing.h"

namespace obol::privacy {
namespace {

const Event kOneStep = SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 1, .count = 1};
const Budget kBudget{Epsilon{1}, Delta{1e-5}};

class Guarded : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  Path path = folder.path() / "ledger.jsonl";
  Ledger ledger = Ledger::create(path, some_header());

  double spent() const { return account(read_ledger(path).spent(), kBudget.delta).epsilon; }
};

TEST_F(Guarded, EveryStepIsWithinTheBudgetAndTheFirstThatIsNotDoesNotHappen) {
  BudgetGuard guard(ledger, kBudget, {.block = 7});
  const std::int64_t affordable = guard.affordable(kOneStep);
  ASSERT_GT(affordable, 10);
  for (std::int64_t step = 0; step < affordable; ++step) {
    guard.pay("training", kOneStep);
    ASSERT_GE(times(read_ledger(path).spent(), kOneStep), step + 1) << "on disk before it is used";
  }
  EXPECT_LE(spent(), 1);
  EXPECT_THROW(guard.pay("training", kOneStep), BudgetExceeded);
  EXPECT_EQ(times(ledger.spent(), kOneStep), affordable) << "the refused step is not in the ledger";
  EXPECT_GT(account({with_count(kOneStep, affordable + 1)}, kBudget.delta).epsilon, 1)
      << "and not one step early";
}

TEST_F(Guarded, WhatElseWasSpentLeavesLess) {
  BudgetGuard guard(ledger, kBudget);
  const std::int64_t before = guard.affordable(kOneStep);
  guard.pay("class histogram", Gaussian{.noise_multiplier = 5, .count = 1});
  EXPECT_LT(guard.affordable(kOneStep), before);
  EXPECT_THROW(
      {
        while (true) guard.pay("training", kOneStep);
      },
      BudgetExceeded);
  EXPECT_LE(spent(), 1);
}

TEST_F(Guarded, AnEventThatAloneIsTooMuchIsRefusedAndNotWritten) {
  BudgetGuard guard(ledger, kBudget);
  EXPECT_THROW(guard.pay("all at once", Gaussian{.noise_multiplier = 0.1, .count = 1}),
               BudgetExceeded);
  EXPECT_TRUE(ledger.spent().empty());
}

TEST_F(Guarded, SettlingGivesBackWhatWasReservedAheadAndACrashDoesNot) {
  {
    BudgetGuard guard(ledger, kBudget, {.block = 50});
    for (int i = 0; i < 60; ++i) guard.pay("training", kOneStep);
    guard.settle();
  }
  EXPECT_EQ(times(read_ledger(path).spent(), kOneStep), 60);
  {
    BudgetGuard guard(ledger, kBudget, {.block = 50});
    guard.pay("training", kOneStep);
  }
  EXPECT_EQ(times(read_ledger(path).spent(), kOneStep), 110);
}

TEST_F(Guarded, ResumesWithWhatIsLeft) {
  std::int64_t paid = 0;
  {
    BudgetGuard guard(ledger, kBudget, {.block = 1});
    for (; paid < 5; ++paid) guard.pay("training", kOneStep);
  }
  BudgetGuard guard(ledger, kBudget, {.block = 1});
  const std::int64_t left = guard.affordable(kOneStep);
  Ledger fresh = Ledger::create(folder.path() / "fresh.jsonl", some_header());
  EXPECT_EQ(left, BudgetGuard(fresh, kBudget).affordable(kOneStep) - paid);
}

TEST_F(Guarded, RefusesABlockOfNothing) {
  EXPECT_THROW(BudgetGuard(ledger, kBudget, {.block = 0}), InvalidArgument);
}

TEST_F(Guarded, WhatIsPaidOnceReservesNothingAhead) {
  BudgetGuard guard(ledger, kBudget, {.block = 100});
  const Event histogram = Gaussian{.noise_multiplier = 50, .count = 1};
  guard.pay_once("class histogram", histogram);
  EXPECT_EQ(times(ledger.spent(), histogram), 1);
  EXPECT_THROW(guard.pay_once("too much", Gaussian{.noise_multiplier = 0.1, .count = 1}),
               BudgetExceeded);
}

TEST_F(Guarded, WithoutABudgetAllIsRecordedAndNothingRefused) {
  BudgetGuard guard(ledger, std::nullopt, {.block = 10});
  const Event costly = Gaussian{.noise_multiplier = 0.01, .count = 1};
  for (int step = 0; step < 25; ++step) guard.pay("training", costly);
  guard.settle();
  EXPECT_EQ(times(read_ledger(path).spent(), costly), 25);
}

TEST_F(Guarded, APlanBeyondTheBudgetIsNotMade) {
  BudgetGuard guard(ledger, kBudget);
  const std::int64_t most = guard.affordable(kOneStep);
  EXPECT_THROW(guard.plan({{"training", with_count(kOneStep, most + 1)}}), BudgetExceeded);
  EXPECT_FALSE(ledger.record().is_planned());
  guard.plan({{"training", with_count(kOneStep, most)}});
  EXPECT_EQ(guard.affordable(kOneStep), most);
  // Chosen later, it needs a share of delta, and the budget has no room for it.
  EXPECT_THROW(guard.plan({{"more", Gaussian{.noise_multiplier = 1000, .count = 1}}}),
               BudgetExceeded);
  EXPECT_EQ(ledger.record().plans.size(), 1U);
}

TEST_F(Guarded, APlanIsPaidOutToItsLastReleaseAndNotBeyond) {
  BudgetGuard guard(ledger, std::nullopt, {.block = 7});
  guard.plan({{"training", with_count(kOneStep, 10)}});
  for (int step = 0; step < 10; ++step) guard.pay("training", kOneStep);
  EXPECT_THROW(guard.pay("training", kOneStep), BudgetExceeded);
  EXPECT_THROW(guard.pay_once("other", kOneStep), BudgetExceeded);
  EXPECT_EQ(times(read_ledger(path).spent(), kOneStep), 10);
  guard.plan({{"other", kOneStep}});
  guard.pay_once("other", kOneStep);
}

TEST_F(Guarded, WhatAKillLeavesUnsettledEndsThePlanEarlier) {
  {
    BudgetGuard guard(ledger, kBudget, {.block = 5});
    guard.plan({{"training", with_count(kOneStep, 12)}});
    guard.pay("training", kOneStep);
  }  // killed: five are reserved
  BudgetGuard guard(ledger, kBudget, {.block = 5});
  EXPECT_EQ(guard.affordable(kOneStep), 7);
  for (int step = 0; step < 7; ++step) guard.pay("training", kOneStep);
  EXPECT_THROW(guard.pay("training", kOneStep), BudgetExceeded);
}

}  // namespace
}  // namespace obol::privacy
