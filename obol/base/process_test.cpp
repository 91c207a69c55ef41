#include "obol/base/process.h"

#include <csignal>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace obol {
namespace {

TEST(RunQuietly, GivesTheExitStatus) {
  EXPECT_EQ(run_quietly({"true"}, "/"), 0);
  EXPECT_EQ(run_quietly({"false"}, "/"), 1);
  EXPECT_EQ(run_quietly({"sh", "-c", "exit 42"}, "/"), 42);
}

TEST(RunQuietly, Gives127WhereTheProgramIsNotThere) {
  EXPECT_EQ(run_quietly({"obol-no-such-program"}, "/"), 127);
  EXPECT_EQ(run_quietly({"/no/such/program"}, "/"), 127);
}

TEST(RunQuietly, Gives127WhereTheFolderIsNotThere) {
  EXPECT_EQ(run_quietly({"true"}, "/no/such/folder"), 127);
}

TEST(RunQuietly, Gives128AndTheSignalThatEndedIt) {
  EXPECT_EQ(run_quietly({"sh", "-c", "kill -KILL $$"}, "/"), 128 + SIGKILL);
  EXPECT_EQ(run_quietly({"sh", "-c", "kill -TERM $$"}, "/"), 128 + SIGTERM);
}

TEST(RunQuietly, RunsInTheGivenFolder) {
  const TemporaryFolder folder;
  EXPECT_EQ(run_quietly({"touch", "here"}, folder.path()), 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "here"));
}

TEST(RunQuietly, PutsNoShellBetween) {
  const TemporaryFolder folder;
  const std::string awkward = "$(touch no) * ' \" ; a";
  EXPECT_EQ(run_quietly({"touch", awkward}, folder.path()), 0);
  EXPECT_TRUE(std::filesystem::exists(folder.path() / awkward));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "no"));
}

TEST(RunQuietly, ThrowsTheOutputAwayAndGivesNoInput) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int status = run_quietly({"sh", "-c", "echo out; echo err >&2; ! read line"}, "/");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(status, 0);
}

TEST(RunReading, GivesEachLineAndTheStatus) {
  std::vector<std::string> lines;
  const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
  EXPECT_EQ(run_reading({"sh", "-c", "echo one; echo; printf two; echo no >&2; exit 3"}, "/", keep),
            3);
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "", "two"}));
  lines.clear();
  EXPECT_EQ(run_reading({"sh", "-c", "seq 20000"}, "/", keep), 0);
  ASSERT_EQ(lines.size(), 20000);
  EXPECT_EQ(lines[12345], "12346");
  EXPECT_EQ(run_reading({"obol-no-such-program"}, "/", keep), 127);
}

}  // namespace
}  // namespace obol
