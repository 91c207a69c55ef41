// Errors of the library, and the exit code each becomes on the command line.
//
// Every message is one sentence in one shape: what must hold, what is, where it came from.
//
//   throw InvalidArgument(violation("clip_norm", "finite and positive", value, "a.toml:14"));
//   // clip_norm must be finite and positive, but is -1 (a.toml:14)
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace obol {

// Documented in docs/command-line.md; scripts rely on the numbers.
enum class ExitCode : int {
  kOk = 0,
  kUsage = 2,
  kBadData = 3,
  kBudgetExceeded = 4,
  kInternal = 5,
  kNetwork = 6,
  kVerificationFailed = 7,
  kInterrupted = 130,
};

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  [[nodiscard]] virtual ExitCode exit_code() const noexcept { return ExitCode::kInternal; }
};

namespace detail {
template <ExitCode kCode>
class CodedError : public Error {
 public:
  using Error::Error;
  [[nodiscard]] ExitCode exit_code() const noexcept override { return kCode; }
};
}  // namespace detail

// The caller asked for something that cannot be meant: an option, a recipe key, an argument.
class InvalidArgument : public detail::CodedError<ExitCode::kUsage> {
  using CodedError::CodedError;
};
// A file is not what it must be, or cannot be read or written.
class DataError : public detail::CodedError<ExitCode::kBadData> {
  using CodedError::CodedError;
};
// A release would exceed the privacy budget; it did not happen.
class BudgetExceeded : public detail::CodedError<ExitCode::kBudgetExceeded> {
  using CodedError::CodedError;
};
// An accountant was given a ledger that it cannot compose.
class UnsupportedEvent : public detail::CodedError<ExitCode::kBadData> {
  using CodedError::CodedError;
};
class NetworkError : public detail::CodedError<ExitCode::kNetwork> {
  using CodedError::CodedError;
};
// Something that claims to be so was recomputed and is not.
class VerificationFailed : public detail::CodedError<ExitCode::kVerificationFailed> {
  using CodedError::CodedError;
};
class Interrupted : public detail::CodedError<ExitCode::kInterrupted> {
  using CodedError::CodedError;
};

// "SUBJECT must be REQUIREMENT, but is ACTUAL (WHERE)"; WHERE may be empty.
template <class Actual>
std::string violation(std::string_view subject, std::string_view requirement, const Actual& actual,
                      std::string_view where = {}) {
  std::string text = fmt::format("{} must be {}, but is {}", subject, requirement, actual);
  if (!where.empty()) text += fmt::format(" ({})", where);
  return text;
}

}  // namespace obol
