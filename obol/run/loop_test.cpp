#include "obol/run/loop.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "obol/base/console.h"
#include "obol/base/interrupt.h"
#include "obol/privacy/ledger_testing.h"
#include "obol/recipe/recipe.h"
#include "obol/run/testing.h"

namespace obol::run {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRecipe = "title = \"t\"\n";
const privacy::Budget kBudget{Epsilon{1}, Delta{1e-5}};

// One session of a training: everything that a process would have open.
struct Session {
  RunFolder folder;
  privacy::Ledger ledger = privacy::Ledger::open(folder.ledger(), privacy::some_header());
  privacy::BudgetGuard guard{ledger, kBudget, {.block = 7, .accounting = kFast}};
  Payment payment{
      .ledger = ledger, .guard = guard, .terms = {.delta = kBudget.delta, .accounting = kFast}};
  std::int64_t releases = 0;
  std::int64_t fails_at = -1;
  Chain method{&guard, [this](std::int64_t step) {
                 if (step == fails_at) throw DataError("the machine is on fire");
                 ++releases;
               }};

  static Session create(const Path& path) {
    return {RunFolder::create(path, kRecipe, privacy::some_header())};
  }
  static Session resume(const Path& path) { return {RunFolder::resume(path, kRecipe)}; }
  Outcome train(const Steps& steps, Diagnostics diagnostics = Diagnostics::kNone) {
    return run::train(method, folder, steps, &payment, diagnostics);
  }
};

class Training : public testing::Test {
 protected:
  Training() { set_console({.level = LogLevel::kError}); }
  ~Training() override { set_console({}); }
  [[nodiscard]] Path path() const { return temporary_.path() / "a"; }
  [[nodiscard]] std::int64_t recorded() const {
    return privacy::times(privacy::read_ledger(path() / "ledger.jsonl").spent(), kStep);
  }
  [[nodiscard]] std::vector<std::int64_t> metric_steps() const {
    std::vector<std::int64_t> steps;
    for (const MetricsRow& row : read_metrics(path() / "metrics.jsonl")) steps.push_back(row.step);
    return steps;
  }

 private:
  TemporaryFolder temporary_;
};

const Steps kSteps{.total = 20, .checkpoint_every = 5, .sample_every = 10, .metrics_every = 4};

TEST_F(Training, TakesAllStepsAndLeavesEverythingInTheFolder) {
  Session session = Session::create(path());
  const Outcome outcome = session.train(kSteps);
  EXPECT_EQ(outcome.ending, Ending::kFinished);
  EXPECT_EQ(outcome.steps, 20);
  EXPECT_EQ(session.method.state(), Chain::after(20));
  EXPECT_EQ(session.method.starts(), 1);
  EXPECT_EQ(recorded(), 20) << "what was reserved ahead is given back";
  EXPECT_EQ(metric_steps(), (std::vector<std::int64_t>{4, 8, 12, 16, 20}));
  const Checkpoint checkpoint = read_checkpoint(path() / "checkpoint.pt");
  EXPECT_EQ(checkpoint.step, 20);
  EXPECT_EQ(checkpoint.sections.at("state"), std::to_string(Chain::after(20)));
  EXPECT_EQ(read_text(path() / kGeneratorName, 1000),
            "generator " + std::to_string(Chain::after(20)));
  EXPECT_FALSE(session.folder.has_teacher());
  EXPECT_NEAR(privacy::verify_certificate(path()).guarantee.epsilon, *outcome.epsilon, 1e-12);
  EXPECT_EQ(in_words(*read_outcome(session.folder)), in_words(outcome));
  EXPECT_TRUE(fs::exists(path() / "samples" / "000010.png"));
  EXPECT_TRUE(fs::exists(path() / "samples" / "000020.png"));
  EXPECT_FALSE(fs::is_empty(path() / "tensorboard"));
  EXPECT_FALSE(fs::exists(path() / "private"));
  const MetricsRow last = read_metrics(path() / "metrics.jsonl").back();
  EXPECT_EQ(last.values.at("last"), 20);
  EXPECT_GE(read_metrics(path() / "metrics.jsonl").front().values.at("epsilon"), 0);
}

TEST_F(Training, WritesTheTeacherBesideTheGenerator) {
  Session session = Session::create(path());
  session.method.has_teacher = true;
  session.train(kSteps);
  EXPECT_EQ(read_text(path() / kTeacherName, 1000), "teacher " + std::to_string(Chain::after(20)));
  EXPECT_TRUE(session.folder.has_teacher());
}

TEST_F(Training, EndsAtTheBudgetAsANormalEnd) {
  Session session = Session::create(path());
  const std::int64_t affordable = session.guard.affordable(kStep);
  Steps steps{.total = affordable + 100, .checkpoint_every = 100};
  const Outcome outcome = session.train(steps);
  EXPECT_EQ(outcome.ending, Ending::kBudget);
  EXPECT_EQ(outcome.steps, affordable);
  EXPECT_EQ(session.method.state(), Chain::after(affordable));
  EXPECT_LE(*outcome.epsilon, 1);
  EXPECT_EQ(recorded(), affordable);
  EXPECT_EQ(metric_steps().back(), affordable) << "the last step is recorded, due or not";
  EXPECT_TRUE(says(in_words(outcome), "stopped by the budget after step"));
  EXPECT_EQ(in_words(*read_outcome(session.folder)), in_words(outcome));
  privacy::verify_certificate(path());
}

TEST_F(Training, GoesOnFromTheCheckpointAndPaysAgainForWhatItRepeats) {
  {
    Session session = Session::create(path());
    session.fails_at = 13;
    EXPECT_THROW(session.train(kSteps), DataError);
    EXPECT_EQ(session.releases, 12);
  }
  EXPECT_EQ(metric_steps(), (std::vector<std::int64_t>{4, 8, 12}));
  EXPECT_EQ(recorded(), 13)
      << "the one that failed was paid for; what was reserved ahead is given back";
  Session session = Session::resume(path());
  EXPECT_FALSE(read_outcome(session.folder)) << "it has not come to an end";
  const Outcome outcome = session.train(kSteps);
  EXPECT_EQ(session.method.starts(), 0) << "that was done";
  EXPECT_EQ(session.releases, 10) << "from the checkpoint of step 10";
  EXPECT_EQ(session.method.state(), Chain::after(20));
  EXPECT_EQ(recorded(), 23);
  EXPECT_EQ(metric_steps(), (std::vector<std::int64_t>{4, 8, 12, 16, 20}));
  EXPECT_EQ(outcome.steps, 20);
  privacy::verify_certificate(path());
}

TEST_F(Training, ThatRepeatedStepsMayReachTheBudgetEarlier) {
  std::int64_t affordable = 0;
  {
    Session session = Session::create(path());
    affordable = session.guard.affordable(kStep);
    session.fails_at = affordable - 2;
    EXPECT_THROW(session.train({.total = affordable, .checkpoint_every = affordable - 10}),
                 DataError);
  }
  Session session = Session::resume(path());
  const Outcome outcome = session.train({.total = affordable});
  EXPECT_EQ(outcome.ending, Ending::kBudget);
  EXPECT_LT(outcome.steps, affordable);
  EXPECT_LE(*outcome.epsilon, 1);
}

TEST_F(Training, ThatHasFinishedFinishesAgainWithoutPaying) {
  { Session::create(path()).train(kSteps); }
  fs::remove(path() / "certificate.json");
  Session session = Session::resume(path());
  const Outcome outcome = session.train(kSteps);
  EXPECT_EQ(outcome.ending, Ending::kFinished);
  EXPECT_EQ(session.releases, 0);
  EXPECT_EQ(recorded(), 20);
  privacy::verify_certificate(path());
}

TEST_F(Training, RemovesACertificateThatIsNoLongerTrue) {
  {
    Session session = Session::create(path());
    session.fails_at = 13;
    std::ofstream(path() / "certificate.json") << "an old one";
    EXPECT_THROW(session.train(kSteps), DataError);
  }
  EXPECT_FALSE(fs::exists(path() / "certificate.json"));
}

TEST_F(Training, RefusesALedgerThatIsNotTheCheckpoints) {
  const Path older = path().parent_path() / "older.jsonl";
  {
    Session session = Session::create(path());
    fs::copy_file(path() / "ledger.jsonl", older);
    session.train(kSteps);
  }
  fs::rename(older, path() / "ledger.jsonl");
  Session session = Session::resume(path());
  const std::string text = refusal([&] { session.train(kSteps); });
  EXPECT_TRUE(says(text, "lost lines")) << text;
  EXPECT_TRUE(says(text, "checkpoint.pt")) << text;
}

TEST_F(Training, RefusesACheckpointOfAnotherRecipeAndADamagedOne) {
  { Session::create(path()).train(kSteps); }
  Checkpoint checkpoint = read_checkpoint(path() / "checkpoint.pt");
  checkpoint.recipe = std::string(64, '0');
  write_checkpoint(path() / "checkpoint.pt", checkpoint);
  EXPECT_TRUE(says(refusal([&] { Session::resume(path()).train(kSteps); }), "recipe"));
  std::ofstream(path() / "checkpoint.pt") << "PK";
  EXPECT_THROW(Session::resume(path()).train(kSteps), DataError);
}

TEST_F(Training, WithUnsafeDiagnosticsSaysSoInTheCertificate) {
  Session::create(path()).train(kSteps, Diagnostics::kUnsafe);
  EXPECT_TRUE(says(read_text(path() / "private" / "diagnostics.jsonl", 10'000), "secret"));
  EXPECT_TRUE(says(read_text(path() / "certificate.md", 100'000), "unsafe diagnostics: secret"));
  EXPECT_FALSE(says(read_text(path() / "metrics.jsonl", 10'000), "secret"));
  privacy::verify_certificate(path());
}

TEST_F(Training, OnPublicDataNeedsNoLedger) {
  const RunFolder folder = RunFolder::create(path(), kRecipe, std::nullopt);
  Chain method(nullptr, {});
  const Outcome outcome = train(method, folder, kSteps, nullptr);
  EXPECT_EQ(outcome.steps, 20);
  EXPECT_FALSE(outcome.epsilon);
  EXPECT_FALSE(fs::exists(path() / "certificate.json"));
}

TEST_F(Training, WritesACheckpointWhenTimeHasPassed) {
  Session session = Session::create(path());
  session.fails_at = 4;
  EXPECT_THROW(session.train({.total = 20, .checkpoint_every = 0, .checkpoint_seconds = 1e-9}),
               DataError);
  EXPECT_EQ(read_checkpoint(path() / "checkpoint.pt").step, 3);
}

TEST_F(Training, WritesNothingThatIsNotWanted) {
  Session::create(path()).train({.total = 5, .sample_every = 0, .metrics_every = 0});
  EXPECT_EQ(read_text(path() / "metrics.jsonl", 10'000), "");
  EXPECT_FALSE(fs::exists(path() / "samples"));
}

// In a process of its own, since a signal is remembered for good.
TEST_F(Training, InterruptedEndsAfterTheStepAndIsGoneOnWith) {
  const auto session = [&] {
    catch_interrupts();
    Session session = Session::create(path());
    Chain method(&session.guard, [](std::int64_t step) {
      if (step == 12) std::raise(SIGTERM);
    });
    const Outcome outcome = train(method, session.folder, kSteps, &session.payment);
    std::_Exit(outcome.ending == Ending::kInterrupted && outcome.steps == 12 ? 0 : 1);
  };
  EXPECT_EXIT(session(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(read_checkpoint(path() / "checkpoint.pt").step, 12);
  EXPECT_EQ(recorded(), 12) << "settled";
  privacy::verify_certificate(path());
  Session again = Session::resume(path());
  again.train(kSteps);
  EXPECT_EQ(again.method.state(), Chain::after(20));
  EXPECT_EQ(again.releases, 8);
  EXPECT_EQ(recorded(), 20);
  EXPECT_EQ(metric_steps(), (std::vector<std::int64_t>{4, 8, 12, 16, 20}));
}

TEST(Steps, AreReadFromARecipe) {
  auto recipe = recipe::Recipe::parse("[run]\nsample_every = 0\ncheckpoint_seconds = 60\n", "a");
  const auto steps = recipe.read<Steps>("run");
  recipe.finish();
  EXPECT_EQ(steps.sample_every, 0);
  EXPECT_EQ(steps.checkpoint_seconds, 60);
  EXPECT_EQ(steps.metrics_every, 100);
}

TEST(Outcome, IsOneSentence) {
  EXPECT_EQ(in_words({Ending::kBudget, 4210, 5000, 184, 9.99}),
            "stopped by the budget after step 4,210 of 5,000: epsilon 9.99, 3 min 4 s");
  EXPECT_EQ(in_words({Ending::kFinished, 5000, 5000, 184, {}}), "finished 5,000 steps, 3 min 4 s");
  EXPECT_TRUE(says(in_words({Ending::kInterrupted, 7, 9, 1, {}}), "--resume"));
}

}  // namespace
}  // namespace obol::run
