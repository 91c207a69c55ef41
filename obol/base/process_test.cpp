#include "obol/base/process.h"

#include <csignal>
#include <string>

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

}  // namespace
}  // namespace obol
