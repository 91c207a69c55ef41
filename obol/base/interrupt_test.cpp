#include "obol/base/interrupt.h"

#include <csignal>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "obol/base/error.h"

namespace obol {
namespace {

using testing::ExitedWithCode;
using testing::KilledBySignal;

constexpr int kThrew = 42;

// In a process of its own, since a signal that was caught stays caught.
[[noreturn]] void check_and_exit() {
  if (!interrupted()) _exit(1);
  try {
    check_interrupt();
  } catch (const Interrupted& error) {
    _exit(std::string(error.what()).empty() ? 2 : kThrew);
  }
  _exit(3);
}

[[noreturn]] void raise_and_check(int signal) {
  catch_interrupts();
  raise(signal);
  check_and_exit();
}

[[noreturn]] void raise_both(int first, int second) {
  catch_interrupts();
  raise(first);
  raise(second);
  _exit(0);
}

TEST(CheckInterrupt, IsSilentBeforeAnySignal) {
  EXPECT_FALSE(interrupted());
  EXPECT_NO_THROW(check_interrupt());
}

TEST(CheckInterrupt, ThrowsAfterEitherSignal) {
  EXPECT_EXIT(raise_and_check(SIGINT), ExitedWithCode(kThrew), "");
  EXPECT_EXIT(raise_and_check(SIGTERM), ExitedWithCode(kThrew), "");
}

TEST(CatchInterrupts, LetsTheSecondSignalEndTheProcess) {
  EXPECT_EXIT(raise_both(SIGINT, SIGINT), KilledBySignal(SIGINT), "");
  EXPECT_EXIT(raise_both(SIGTERM, SIGTERM), KilledBySignal(SIGTERM), "");
}

TEST(CatchInterrupts, LetsASecondSignalOfTheOtherKindEndTheProcess) {
  EXPECT_EXIT(raise_both(SIGINT, SIGTERM), KilledBySignal(SIGTERM), "");
  EXPECT_EXIT(raise_both(SIGTERM, SIGINT), KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace obol
