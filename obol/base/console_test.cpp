#include "obol/base/console.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace obol {
namespace {

const std::string kErase = "\r\033[K";

// A clock to turn by hand, and every piece of text that was written.
struct Desk {
  double now = 1000;
  std::vector<std::string> written;

  ProgressBackend backend(bool is_terminal) {
    return {.write = [this](std::string_view text) { written.emplace_back(text); },
            .seconds = [this] { return now; },
            .is_terminal = is_terminal};
  }
};

// Sets the console back at the end.
class Console : public testing::Test {
 protected:
  ~Console() override { set_console({}); }

  static std::string captured(const std::function<void()>& action) {
    testing::internal::CaptureStderr();
    action();
    return testing::internal::GetCapturedStderr();
  }
};

TEST(Progress, IsSilentWithinASecond) {
  Desk desk;
  for (const bool is_terminal : {false, true}) {
    Progress progress("reading", 100, "records", desk.backend(is_terminal));
    progress.advance(50);
    desk.now += 0.99;
    progress.advance(50);
  }
  EXPECT_TRUE(desk.written.empty());
}

TEST(Progress, StaysSilentAtTheEndWhereItWasSilentBefore) {
  Desk desk;
  {
    Progress progress("reading", 100, "records", desk.backend(true));
    progress.advance(100);
    desk.now += 50;
  }
  EXPECT_TRUE(desk.written.empty());
}

TEST(Progress, RedrawsOneLineOnATerminal) {
  Desk desk;
  Progress progress("reading", 100, "records", desk.backend(true));
  desk.now += 2;
  progress.advance(25);
  EXPECT_EQ(desk.written,
            std::vector<std::string>{kErase + "reading [######..................]  25% 25/100 "
                                              "records, 12 records/s, 6.0 s left"});
}

TEST(Progress, RedrawsAtMostEveryTenthOfASecond) {
  Desk desk;
  Progress progress("reading", 10'000, "records", desk.backend(true));
  desk.now += 1;
  progress.advance(1);
  EXPECT_EQ(desk.written.size(), 1U);
  desk.now += 0.0625;
  progress.advance(1);
  EXPECT_EQ(desk.written.size(), 1U);
  desk.now += 0.0625;
  progress.advance(1);
  EXPECT_EQ(desk.written.size(), 2U);
  for (int i = 0; i < 64; ++i) {  // another second
    desk.now += 1.0 / 64;
    progress.advance(1);
  }
  EXPECT_LE(desk.written.size(), 2U + 10U);
  EXPECT_GE(desk.written.size(), 2U + 8U);
}

TEST(Progress, WritesAPlainLineNowAndThenElsewhere) {
  Desk desk;
  Progress progress("reading", 1000, "records", desk.backend(false));
  desk.now += 1;
  progress.advance(100);
  ASSERT_EQ(desk.written.size(), 1U);
  EXPECT_EQ(desk.written[0], "reading  10% 100/1000 records, 100 records/s, 9.0 s left\n");
  desk.now += 9.5;
  progress.advance(1);
  EXPECT_EQ(desk.written.size(), 1U);
  desk.now += 0.5;
  progress.advance(1);
  EXPECT_EQ(desk.written.size(), 2U);
  for (const std::string& text : desk.written) {
    EXPECT_EQ(text.find('\r'), std::string::npos);
    EXPECT_EQ(text.find('\033'), std::string::npos);
    EXPECT_EQ(text.find('\n'), text.size() - 1);
  }
}

TEST(Progress, EndsWithALastLine) {
  for (const bool is_terminal : {false, true}) {
    Desk desk;
    {
      Progress progress("reading", 100, "records", desk.backend(is_terminal));
      desk.now += 2;
      progress.advance(50);
      desk.written.clear();
      desk.now += 0.03125;  // too soon for a line of its own
      progress.advance(50);
      desk.now += 1.96875;
      EXPECT_TRUE(desk.written.empty());
    }
    std::string all;
    for (const std::string& text : desk.written) all += text;
    EXPECT_EQ(all, is_terminal ? kErase +
                                     "reading [########################] 100% 100/100 records, "
                                     "25 records/s, 4.0 s\n"
                               : "reading 100% 100/100 records, 25 records/s, 4.0 s\n");
  }
}

TEST(Progress, ShowsSlowRatesWithDecimals) {
  Desk desk;
  Progress progress("training", 10, "steps", desk.backend(false));
  desk.now += 8;
  progress.advance(2);
  EXPECT_EQ(desk.written.back(), "training  20% 2/10 steps, 0.25 steps/s, 32.0 s left\n");
}

TEST(Progress, ShowsTheLatestNoteAndKeepsIt) {
  Desk desk;
  Progress progress("training", 100, "steps", desk.backend(false));
  progress.advance(1, "epsilon 1.00");
  progress.advance(1, "epsilon 3.21");
  desk.now += 1;
  progress.advance(48);
  EXPECT_EQ(desk.written.back(),
            "training  50% 50/100 steps, 50 steps/s, 1.0 s left, epsilon 3.21\n");
}

TEST(Progress, ShowsTheTimeThatPassedWhereTheEndIsNotKnown) {
  Desk desk;
  Progress progress("reading", 0, "bytes", desk.backend(true));
  desk.now += 90;
  progress.advance(9000);
  EXPECT_EQ(desk.written.back(), kErase + "reading 9000 bytes, 100 bytes/s, 1 min 30 s");
}

TEST(Progress, DoesNotShowAHundredPercentTooEarlyNorMoreThanThat) {
  Desk desk;
  Progress progress("reading", 1000, "records", desk.backend(true));
  desk.now += 1;
  progress.advance(999);
  EXPECT_NE(desk.written.back().find("#######################.]  99% 999/1000"), std::string::npos);
  desk.now += 1;
  progress.advance(501);
  EXPECT_EQ(desk.written.back(), kErase +
                                     "reading [########################] 100% 1500/1000 "
                                     "records, 750 records/s, 2.0 s");
}

TEST(Progress, SurvivesAdvancingByNothing) {
  Desk desk;
  Progress progress("waiting", 10, "records", desk.backend(false));
  desk.now += 1;
  progress.advance(0);
  EXPECT_EQ(desk.written.back(), "waiting   0% 0/10 records, 0.00 records/s, 1.0 s\n");
}

TEST_F(Console, StartsAtInfo) {
  EXPECT_EQ(console().level, LogLevel::kInfo);
  EXPECT_EQ(console().progress, ProgressStyle::kAutomatic);
}

TEST_F(Console, KeepsItsSettings) {
  set_console({.level = LogLevel::kDebug, .progress = ProgressStyle::kLines});
  EXPECT_EQ(console().level, LogLevel::kDebug);
  EXPECT_EQ(console().progress, ProgressStyle::kLines);
}

TEST_F(Console, NamesTheLevelOfALine) {
  set_console({.level = LogLevel::kDebug});
  EXPECT_EQ(captured([] {
              log_line(LogLevel::kError, "e");
              log_warning("{} w", 1);
              log_info("{} i", 2);
              log_line(LogLevel::kDebug, "d");
            }),
            "obol: error: e\nobol: warning: 1 w\nobol: 2 i\nobol: debug: d\n");
}

TEST_F(Console, ShowsNothingBelowItsLevel) {
  const auto log_all = [] {
    for (const LogLevel level :
         {LogLevel::kError, LogLevel::kWarning, LogLevel::kInfo, LogLevel::kDebug})
      log_line(level, "x");
  };
  set_console({.level = LogLevel::kError});
  EXPECT_EQ(captured(log_all), "obol: error: x\n");
  set_console({.level = LogLevel::kWarning});
  EXPECT_EQ(captured(log_all), "obol: error: x\nobol: warning: x\n");
  set_console({.level = LogLevel::kInfo});
  EXPECT_EQ(captured(log_all), "obol: error: x\nobol: warning: x\nobol: x\n");
}

TEST_F(Console, LetsNoTextChangeTheTerminalOrForgeALine) {
  EXPECT_EQ(captured([] { log_line(LogLevel::kError, "a \033[31m\nobol: verified"); }),
            "obol: error: a \\u001b[31m\\u000aobol: verified\n");
}

TEST_F(Console, LetsNothingOnTheStandardOutputChangeTheTerminal) {
  testing::internal::CaptureStdout();
  {
    const PrintableOutput output;
    std::cout << "caf" << '\xc3' << '\xa9' << " \033]0;x\a\n"
              << "rest\033" << std::flush;
    std::cout << 7;
  }
  std::cout << "\033 as it is" << std::flush;
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "café \\u001b]0;x\\u0007\nrest\\u001b7\033 as it is");
}

TEST_F(Console, PrintsBracesInALineAsTheyAre) {
  EXPECT_EQ(captured([] { log_line(LogLevel::kInfo, "{} {0}"); }), "obol: {} {0}\n");
}

// What a process with a terminal for its standard error writes there. Its clock is the real one,
// so the action waits out the second in which progress is silent.
// Nothing where the machine has no pseudo-terminals, as in a bare chroot.
std::optional<std::string> on_terminal(const ConsoleSettings& settings,
                                       const std::function<void()>& action) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0) return std::nullopt;
  const int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
  const pid_t child = fork();
  if (child == 0) {
    dup2(slave, STDERR_FILENO);
    set_console(settings);
    action();
    _exit(0);
  }
  close(slave);
  std::string text;
  std::array<char, 4096> buffer{};
  while (true) {  // ends with an error once nobody has the other end
    const ssize_t count = read(master, buffer.data(), buffer.size());
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  close(master);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  return text;
}

constexpr const char* kNoTerminal = "this machine has no pseudo-terminals";

void progress_and_log() {
  {
    Progress progress("reading", 4);
    std::this_thread::sleep_for(std::chrono::milliseconds(1100));
    progress.advance(1);
    log_info("between");
    progress.advance(3);
  }
  log_info("after");
}

TEST_F(Console, DoesNotTearTheProgressLineOnATerminal) {
  const auto text = on_terminal({}, progress_and_log);
  if (!text) GTEST_SKIP() << kNoTerminal;
  const std::string first = "reading \\[#{6}\\.{18}\\]  25% 1/4 records, [^\r\n]* left";
  const std::string last = "reading \\[#{24}\\] 100% 4/4 records, [^\r\n]* s";
  // The second advance may or may not come a tenth of a second after the first.
  const std::regex expected("\r\033\\[K(" + first + ")\r\033\\[Kobol: between\r\n\r\033\\[K\\1" +
                            "(\r\033\\[K" + last + ")?\r\033\\[K" + last + "\r\nobol: after\r\n");
  EXPECT_TRUE(std::regex_match(*text, expected)) << *text;
}

TEST_F(Console, WritesPlainLinesOnATerminalWhenAskedTo) {
  const auto text = on_terminal({.progress = ProgressStyle::kLines}, progress_and_log);
  if (!text) GTEST_SKIP() << kNoTerminal;
  const std::regex expected(
      "reading  25% 1/4 records, [^\r\n]* left\r\nobol: between\r\n"
      "reading 100% 4/4 records, [^\r\n]* s\r\nobol: after\r\n");
  EXPECT_TRUE(std::regex_match(*text, expected)) << *text;
}

TEST_F(Console, ShowsNoProgressWhereOnlyErrorsAreWanted) {
  const auto text = on_terminal({.level = LogLevel::kError}, progress_and_log);
  if (!text) GTEST_SKIP() << kNoTerminal;
  EXPECT_EQ(*text, "");
}

}  // namespace
}  // namespace obol
