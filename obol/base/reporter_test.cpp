#include "obol/base/reporter.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/interrupt.h"

namespace obol {
namespace {

// Writes down everything, and ends the work when told to.
class Notebook final : public Reporter {
 public:
  void log(LogLevel /*level*/, std::string_view text) override { lines.emplace_back(text); }
  std::unique_ptr<Work> begin(std::string label, std::int64_t total, std::string unit) override {
    lines.push_back(fmt::format("{}: {} {}", label, total, unit));
    return std::make_unique<Counter>(lines);
  }
  bool interrupted() noexcept override { return ends; }

  std::vector<std::string> lines;
  bool ends = false;

 private:
  class Counter final : public Work {
   public:
    explicit Counter(std::vector<std::string>& lines) : lines_(lines) {}
    void advance(std::int64_t count, std::string_view note) override {
      lines_.push_back(fmt::format("+{} {}", count, note));
    }

   private:
    std::vector<std::string>& lines_;
  };
};

TEST(ReporterScope, SendsLinesProgressAndInterruptsToTheOneThatIsPassed) {
  Notebook notebook;
  testing::internal::CaptureStderr();
  {
    const ReporterScope scope(&notebook);
    log_warning("{} left", 3);
    Progress progress("training", 10, "steps");
    progress.advance(2, "epsilon 1");
    EXPECT_NO_THROW(check_interrupt());
    notebook.ends = true;
    EXPECT_THROW(check_interrupt(), Interrupted);
  }
  EXPECT_EQ(notebook.lines,
            (std::vector<std::string>{"3 left", "training: 10 steps", "+2 epsilon 1"}));
  EXPECT_FALSE(interrupted()) << "the console is in use again";
  log_warning("back");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "obol: warning: back\n");
}

TEST(ReporterScope, KeepsTheOneInUseWhereNoneIsPassed) {
  SilentReporter silent;
  const ReporterScope outer(&silent);
  {
    const ReporterScope inner(nullptr);
    EXPECT_EQ(&reporter(), &silent);
  }
  EXPECT_EQ(&reporter(), &silent);
}

TEST(SilentReporter, SaysNothing) {
  SilentReporter silent;
  const ReporterScope scope(&silent);
  testing::internal::CaptureStderr();
  log_warning("unheard");
  Progress("reading", 0).advance(1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace obol
