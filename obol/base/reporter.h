// Who is told what a long call does, and who may end it: log lines, progress, interruption.
//
//   SilentReporter silent;
//   app::train({.recipe = "my.toml", .out = "runs/a", .reporter = &silent});
//
// Where none is passed, it is the console: lines on standard error, and Ctrl-C once
// catch_interrupts() was called. One reporter is in use in a process at a time, since the threads
// of a call report to it too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace obol {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

class Reporter {
 public:
  // What began; it ends with the object.
  class Work {
   public:
    virtual ~Work() = default;
    // `note` is the latest figure, in words: "epsilon 3.21". Empty: as before.
    virtual void advance(std::int64_t count, std::string_view note) = 0;
  };

  virtual ~Reporter() = default;
  virtual void log(LogLevel level, std::string_view text) = 0;
  // `total` 0: the end is not known. `unit` is what is counted: "steps", "records".
  virtual std::unique_ptr<Work> begin(std::string label, std::int64_t total, std::string unit) = 0;
  // Asked now and then, by any thread. Where it is so, the work ends cleanly.
  virtual bool interrupted() noexcept = 0;
};

// The terminal of this process; see console.h and interrupt.h.
Reporter& console_reporter();

// Says nothing, and lets the work end.
class SilentReporter final : public Reporter {
 public:
  void log(LogLevel level, std::string_view text) override;
  std::unique_ptr<Work> begin(std::string label, std::int64_t total, std::string unit) override;
  bool interrupted() noexcept override { return false; }
};

// The one in use.
Reporter& reporter() noexcept;

// Puts another to use while it lives; with null, the one in use stays.
class ReporterScope {
 public:
  explicit ReporterScope(Reporter* next) noexcept;
  ~ReporterScope();
  ReporterScope(const ReporterScope&) = delete;
  ReporterScope& operator=(const ReporterScope&) = delete;

 private:
  Reporter* before_;
};

}  // namespace obol
