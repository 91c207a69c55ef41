#include "obol/base/error.h"

#include <string>
#include <type_traits>

#include <gtest/gtest.h>

namespace obol {
namespace {

// Scripts rely on the numbers, so they are written out here once more.
template <class Thrown>
int code_of() {
  try {
    throw Thrown("why");
  } catch (const Error& error) {  // by its base, as the command line catches it
    EXPECT_STREQ(error.what(), "why");
    return static_cast<int>(error.exit_code());
  }
}

TEST(ExitCode, OfPlainErrorIsInternal) { EXPECT_EQ(code_of<Error>(), 5); }
TEST(ExitCode, OfInvalidArgumentIsUsage) { EXPECT_EQ(code_of<InvalidArgument>(), 2); }
TEST(ExitCode, OfDataErrorIsBadData) { EXPECT_EQ(code_of<DataError>(), 3); }
TEST(ExitCode, OfUnsupportedEventIsBadData) { EXPECT_EQ(code_of<UnsupportedEvent>(), 3); }
TEST(ExitCode, OfBudgetExceededIsItsOwn) { EXPECT_EQ(code_of<BudgetExceeded>(), 4); }
TEST(ExitCode, OfNetworkErrorIsItsOwn) { EXPECT_EQ(code_of<NetworkError>(), 6); }
TEST(ExitCode, OfVerificationFailedIsItsOwn) { EXPECT_EQ(code_of<VerificationFailed>(), 7); }
TEST(ExitCode, OfInterruptedIsWhatShellsUse) { EXPECT_EQ(code_of<Interrupted>(), 130); }
TEST(ExitCode, OfSuccessIsZero) { EXPECT_EQ(static_cast<int>(ExitCode::kOk), 0); }

// Two kinds with one exit code must still be told apart by a catch.
static_assert(!std::is_base_of_v<DataError, UnsupportedEvent>);
static_assert(!std::is_base_of_v<UnsupportedEvent, DataError>);

TEST(Violation, SaysWhatMustHoldWhatIsAndWhere) {
  EXPECT_EQ(violation("noise_multiplier", "finite and positive", -1, "mnist.toml:14"),
            "noise_multiplier must be finite and positive, but is -1 (mnist.toml:14)");
}

TEST(Violation, LeavesOutAnEmptyPlace) {
  EXPECT_EQ(violation("delta", "less than 1", 1.5), "delta must be less than 1, but is 1.5");
  EXPECT_EQ(violation("delta", "less than 1", 1.5, ""), "delta must be less than 1, but is 1.5");
}

TEST(Violation, TakesTextAndTreatsBracesInItAsText) {
  EXPECT_EQ(violation("{}", "{0}", std::string("{x}"), "{"), "{} must be {0}, but is {x} ({)");
}

}  // namespace
}  // namespace obol
