#include "obol/app/sweep.h"

#include <gtest/gtest.h>

#include "obol/base/reporter.h"
#include "obol/report/testing.h"

namespace obol::app {
namespace {

class SweepOfFour : public testing::Test {
 protected:
  SweepOfFour() { write_file(recipe_, report::some_recipe()); }

  [[nodiscard]] SweepRequest request() {
    return {.recipe = recipe_.string(),
            .grid = {"privacy.epsilon=1,2"},
            .overrides = {},
            .out = folder_.path() / "runs",
            .repeat = 2,
            .evaluated = false,
            .evaluation = {},
            .reporter = &silent_};
  }
  [[nodiscard]] const Path& path() const { return folder_.path(); }

 private:
  TemporaryFolder folder_;
  Path recipe_ = folder_.path() / "some.toml";
  SilentReporter silent_;
};

TEST_F(SweepOfFour, TriesEveryRunAndKeepsItsError) {
  std::vector<Path> tried;
  const SweepEnd end = sweep(request(), {.train = [&](const TrainRequest& one) -> run::Outcome {
                                           tried.push_back(one.out.filename());
                                           throw BudgetExceeded("no more");
                                         },
                                         .evaluate = {}});
  EXPECT_EQ(tried.size(), 4U);
  EXPECT_EQ(tried.front(), "epsilon=1");
  EXPECT_EQ(end.failure, ExitCode::kBudgetExceeded);
  EXPECT_EQ(end.runs, 4U);
  EXPECT_EQ(end.done, 0U);
  EXPECT_EQ(end.sweep.points[1].runs[0].error, "no more");
  EXPECT_TRUE(std::filesystem::exists(path() / "runs" / "sweep.csv"));
}

TEST_F(SweepOfFour, EndsWithTheRunThatWasInterrupted) {
  int tried = 0;
  const SweepEnd end = sweep(request(), {.train = [&](const TrainRequest&) -> run::Outcome {
                                           ++tried;
                                           throw Interrupted("now");
                                         },
                                         .evaluate = {}});
  EXPECT_EQ(tried, 1);
  EXPECT_TRUE(end.was_interrupted);
  EXPECT_EQ(end.failure, ExitCode::kOk);
}

TEST_F(SweepOfFour, IsRefusedInTheFolderOfARun) {
  SweepRequest wrong = request();
  wrong.out = report::SomeRun(path() / "run").path();
  EXPECT_THROW(sweep(wrong, {}), InvalidArgument);
  wrong = request();
  wrong.repeat = 0;
  EXPECT_THROW(sweep(wrong, {}), InvalidArgument);
}

}  // namespace
}  // namespace obol::app
