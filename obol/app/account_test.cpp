#include "obol/app/account.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "obol/app/calibrate.h"
#include "obol/base/error.h"
#include "obol/report/testing.h"

namespace obol::app {
namespace {

const Delta kDelta{1e-5};
const privacy::Event kEvent = privacy::Gaussian{.noise_multiplier = 20, .count = 100};

TEST(Account, OfOneEventIsWhatTheAccountantSays) {
  const Account found = account({.event = kEvent, .delta = kDelta});
  EXPECT_EQ(found.guarantee.epsilon, privacy::account({kEvent}, kDelta).epsilon);
  EXPECT_EQ(found.if_fixed, found.guarantee.epsilon);
  EXPECT_TRUE(found.alone.empty());
  EXPECT_EQ(nlohmann::json::parse(to_json(found)).at("epsilon"), found.guarantee.epsilon);
}

TEST(Account, NeedsSomethingToAccountForAndADelta) {
  EXPECT_THROW(account({.event = kEvent}), InvalidArgument);
  EXPECT_THROW(account({.delta = kDelta}), InvalidArgument);
  EXPECT_THROW(account({.event = kEvent, .delta = kDelta, .group_size = 0}), InvalidArgument);
  EXPECT_THROW(account({.what = {"/no/such/run", "/nor/this"}}), DataError);
}

TEST(Account, OfSeveralRunsIsMoreThanOfEachAndListsEachOnce) {
  const TemporaryFolder folder;
  const report::SomeRun first(folder.path() / "all" / "a");
  const report::SomeRun second(folder.path() / "all" / "b");
  const Account found =
      account({.what = {(folder.path() / "all").string(), first.path().string()}});
  ASSERT_EQ(found.alone.size(), 2U);
  EXPECT_EQ(found.delta.value(), 1e-5) << "as in their certificates";
  for (const RunCost& cost : found.alone) EXPECT_GT(found.guarantee.epsilon, cost.epsilon);
  EXPECT_LE(found.if_fixed, found.guarantee.epsilon);
  EXPECT_TRUE(report::has(to_text(found), "Together these 2 runs have epsilon"));
}

TEST(Calibrate, FindsTheOneThatIsLeftOpen) {
  const privacy::Budget budget{Epsilon{1}, kDelta};
  const Calibrated found =
      calibrate({.budget = budget, .sampling = "none", .steps = std::int64_t{10}});
  EXPECT_LE(found.cost.epsilon, 1);
  EXPECT_GT(found.cost.epsilon, 0.99);
  const Calibrated steps =
      calibrate({.budget = budget, .sampling = "none", .noise_multiplier = found.noise_multiplier});
  EXPECT_EQ(steps.steps, 10);
  EXPECT_THROW(calibrate({.budget = budget}), InvalidArgument);
}

}  // namespace
}  // namespace obol::app
