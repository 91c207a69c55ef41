#include "obol/report/sweep.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "obol/base/file.h"
#include "obol/base/text.h"
#include "obol/evaluate/evaluation.h"
#include "obol/report/testing.h"

namespace obol::report {
namespace {

using evaluate::Evaluation;

Evaluation scored(double logreg, double cnn) {
  Evaluation evaluation;
  evaluation.seeds = 1;
  evaluation.classifiers = {{.classifier = "logreg", .accuracy = logreg, .deviation = 0},
                            {.classifier = "cnn", .accuracy = cnn, .deviation = 0}};
  return evaluation;
}

SweepRun finished(const std::string& folder, double epsilon, double cnn) {
  return {.folder = folder,
          .outcome = run::Outcome{run::Ending::kFinished, 10, 10, 2.5, epsilon},
          .epsilon = epsilon,
          .evaluation = scored(0.5, cnn)};
}

Sweep some_sweep() {
  const recipe::Grid grid({"method.self_weight=0.5,1", "privacy.epsilon=1,10"});
  Sweep sweep{.recipe = "some/recipe",
              .overrides = {"privacy.steps=10"},
              .keys = grid.keys(),
              .classifiers = {"logreg", "cnn"},
              .points = {}};
  for (const recipe::GridPoint& point : grid.points()) sweep.points.push_back({point.values, {}});
  sweep.points[0].runs = {finished("a", 0.99, 0.6), finished("a,run=2", 0.98, 0.64)};
  sweep.points[1].runs = {finished("b", 9.9, 0.8)};
  const std::string error = "epsilon must be \"more\", but is 1, say";
  sweep.points[2].runs = {{.folder = "c", .error = error}, {.folder = "c,run=2", .error = error}};
  sweep.points[3].runs = {{.folder = "d"}};
  return sweep;
}

TEST(Sweep, SpreadsOverRunsOrOverTheSeedsOfOne) {
  Sweep sweep = some_sweep();
  const auto several = accuracy(sweep.points[0], "cnn");
  EXPECT_NEAR(several->mean, 0.62, 1e-12);
  EXPECT_NEAR(*several->deviation, 0.02 * std::sqrt(2), 1e-12);
  EXPECT_FALSE(accuracy(sweep.points[1], "cnn")->deviation);
  Evaluation& evaluation = *sweep.points[1].runs[0].evaluation;
  evaluation.seeds = 3;
  evaluation.classifiers[1].deviation = 0.01;
  EXPECT_EQ(accuracy(sweep.points[1], "cnn")->deviation, 0.01);
  EXPECT_FALSE(accuracy(sweep.points[2], "cnn"));
}

TEST(Sweep, ATableHasARowForEveryPointAndTheErrorsBelow) {
  const std::string text = to_text(some_sweep());
  EXPECT_EQ(
      text,
      "self_weight  epsilon  certified epsilon  logreg        cnn           training\n"
      "0.5          1        0.99               50.0% +- 0.0  62.0% +- 2.8  2.5 s\n"
      "0.5          10       9.9                50.0%         80.0%         2.5 s\n"
      "1            1        -                  -             -             -         failed\n"
      "1            10       -                  -             -             -         not "
      "finished\n"
      "\nc: epsilon must be \"more\", but is 1, say\n");
}

TEST(Sweep, SaysWhatIsStillToBeDone) {
  Sweep sweep = some_sweep();
  SweepRun& run = sweep.points[1].runs[0];
  run.evaluation.reset();
  EXPECT_TRUE(has(to_csv(sweep), "0.5,10,1,9.9,,,,,2.5,not evaluated,"));
  sweep.classifiers.clear();
  EXPECT_TRUE(has(to_csv(sweep), "0.5,10,1,9.9,2.5,,")) << "nobody asked for it";
  run.outcome->ending = run::Ending::kBudget;
  EXPECT_TRUE(has(to_csv(sweep), "0.5,10,1,9.9,2.5,stopped by the budget,"));
  run.outcome->ending = run::Ending::kInterrupted;
  EXPECT_TRUE(has(to_csv(sweep), "0.5,10,0,9.9,2.5,not finished,"));
}

TEST(Sweep, CsvQuotesWhatNeedsIt) {
  const std::vector<std::string> lines = split(to_csv(some_sweep()), '\n');
  ASSERT_EQ(lines.size(), 6U);
  EXPECT_EQ(lines[0],
            "method.self_weight,privacy.epsilon,runs,certified_epsilon,logreg,logreg_deviation,cnn,"
            "cnn_deviation,training_seconds,state,error");
  EXPECT_EQ(lines[2], "0.5,10,1,9.9,0.5,,0.8,,2.5,,");
  EXPECT_EQ(lines[3], "1,1,0,,,,,,,failed,\"epsilon must be \"\"more\"\", but is 1, say\"");
}

TEST(Sweep, JsonHasEveryRun) {
  const auto value = nlohmann::json::parse(to_json(some_sweep()));
  EXPECT_EQ(value["grid"]["privacy.epsilon"], (std::vector<std::string>{"1", "10"}));
  EXPECT_TRUE(has(value["not_covered"].get<std::string>(), "accounted for together"));
  EXPECT_EQ(value["points"][0]["certified_epsilon"], 0.99) << "the largest of its runs";
  EXPECT_EQ(value["points"][0]["runs"][1]["folder"], "a,run=2");
  EXPECT_EQ(value["points"][0]["runs"][1]["accuracy"]["cnn"], 0.64);
  EXPECT_EQ(value["points"][2]["runs"][0]["error"], "epsilon must be \"more\", but is 1, say");
}

TEST(Sweep, DrawsTheLastClassifierAgainstEpsilonWithALineForEveryOtherValue) {
  Sweep sweep = some_sweep();
  std::string svg = *to_svg(sweep);
  EXPECT_TRUE(has(svg, "<title>Accuracy of cnn against epsilon</title>"));
  EXPECT_TRUE(has(svg, "self_weight 0.5: 62 at 1, 80 at 10;"));
  sweep.points[3].runs = {finished("d", 9.9, 0.9)};
  svg = *to_svg(sweep);
  EXPECT_TRUE(has(svg, ">self_weight 1</text>")) << "a key";
  EXPECT_TRUE(has(svg, "self_weight 1: 90 at 10;"));
}

TEST(Sweep, DrawsAllClassifiersAgainstASingleKeyAndNothingWithoutNumbers) {
  Sweep sweep = some_sweep();
  sweep.keys = recipe::Grid({"method.clip_norm=2,3"}).keys();
  sweep.points = {{{"2"}, {finished("a", 1, 0.7)}}, {{"3"}, {finished("b", 1, 0.8)}}};
  const std::string svg = *to_svg(sweep);
  EXPECT_TRUE(has(svg, "cnn: 70 at 2, 80 at 3;"));
  EXPECT_TRUE(has(svg, "logreg: 50 at 2, 50 at 3;"));
  sweep.points = {{{"2"}, {{.folder = "a"}}}};
  EXPECT_FALSE(to_svg(sweep)) << "nothing was measured";
  sweep.keys = recipe::Grid({"method.cost=l1,l2"}).keys();
  sweep.points = {{{"l1"}, {finished("a", 1, 0.7)}}};
  EXPECT_FALSE(to_svg(sweep)) << "no numbers to draw against";
}

TEST(Sweep, ReadsRunsAndTellsWhatIsWrongWithThem) {
  const TemporaryFolder folder;
  const SomeRun run(folder.path() / "a");
  run.write("evaluation.json", kEvaluation);
  run.write("outcome.json",
            R"({"ending": "budget", "steps": 9, "total": 10, "seconds": 1, "epsilon": 1})");
  const SweepRun read = read_sweep_run(folder.path(), "a");
  EXPECT_TRUE(read.is_trained());
  EXPECT_EQ(read.epsilon, privacy::verify_certificate(run.path()).guarantee.epsilon);
  EXPECT_EQ(find_score(*read.evaluation, "cnn")->accuracy, 0.951);
  EXPECT_FALSE(read_sweep_run(folder.path(), "none").outcome);
  run.write("outcome.json", "{}");
  EXPECT_TRUE(has(read_sweep_run(folder.path(), "a").error, "must be the outcome of a training"));
}

TEST(Sweep, LeavesNoPictureOfAnEarlierTable) {
  const TemporaryFolder folder;
  Sweep sweep = some_sweep();
  write_sweep(sweep, folder.path());
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "sweep.svg"));
  for (SweepPoint& point : sweep.points) point.runs.clear();
  write_sweep(sweep, folder.path());
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "sweep.svg"));
  EXPECT_EQ(read_text(folder.path() / "sweep.csv", 10'000), to_csv(sweep));
}

}  // namespace
}  // namespace obol::report
