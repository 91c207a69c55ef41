// What a person sees while something runs: log lines and one progress line, on standard error.
//
//   Progress progress("reading", num_records);
//   for (...) progress.advance(1);
//
// On a terminal the progress line changes in place; piped, or with ProgressStyle::kLines, it is a
// plain line now and then. Work that ends within a second shows nothing. Log lines never tear the
// progress line.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <streambuf>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "obol/base/reporter.h"

namespace obol {

enum class ProgressStyle { kAutomatic, kLines };

struct ConsoleSettings {
  LogLevel level = LogLevel::kInfo;
  ProgressStyle progress = ProgressStyle::kAutomatic;
};

void set_console(const ConsoleSettings& settings);
ConsoleSettings console();

// To the reporter in use; on the console one line, whatever is in the text: see printable().
void log_line(LogLevel level, std::string_view text);

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::kWarning, fmt::format(format, std::forward<Args>(args)...));
}

// Puts printable() before the standard output while it lives: names, titles and cells of files that
// came from anywhere are printed, and a terminal must not obey them.
class PrintableOutput {
 public:
  PrintableOutput();
  ~PrintableOutput();
  PrintableOutput(const PrintableOutput&) = delete;
  PrintableOutput& operator=(const PrintableOutput&) = delete;

 private:
  std::unique_ptr<std::streambuf> filter_;
  std::streambuf* before_;
};

// Where a progress line goes and what time it is; tests replace both.
struct ProgressBackend {
  std::function<void(std::string_view text)> write;
  std::function<double()> seconds;
  bool is_terminal = false;
};

// Work that the reporter in use is told of.
class Progress {
 public:
  // `total` 0: the end is not known. `unit` is what is counted: "steps", "records".
  explicit Progress(std::string label, std::int64_t total, std::string unit = "records");
  // On the console, whatever is in use.
  Progress(std::string label, std::int64_t total, std::string unit, ProgressBackend backend);

  // `note` is shown at the end of the line: "epsilon 3.21".
  void advance(std::int64_t count, std::string_view note = {}) { work_->advance(count, note); }

 private:
  std::unique_ptr<Reporter::Work> work_;
};

}  // namespace obol
