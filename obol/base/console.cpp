#include "obol/base/console.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <mutex>
#include <utility>

#include <unistd.h>

#include "obol/base/interrupt.h"
#include "obol/base/text.h"

namespace obol {
namespace {

constexpr double kQuietSeconds = 1.0;   // shorter work shows nothing
constexpr double kRedrawSeconds = 0.1;  // on a terminal
constexpr double kLineSeconds = 10.0;   // between plain lines
constexpr std::string_view kEraseLine = "\r\033[K";

struct Terminal {
  std::mutex mutex;
  ConsoleSettings settings;
  std::string progress_line;  // what stands on the last line now, to be redrawn after a log line
};

Terminal& terminal() {
  static Terminal instance;
  return instance;
}

void write_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

std::string_view prefix(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "obol: error: ";
    case LogLevel::kWarning:
      return "obol: warning: ";
    case LogLevel::kInfo:
      return "obol: ";
    case LogLevel::kDebug:
      return "obol: debug: ";
  }
  return "";
}

ProgressBackend standard_backend() {
  const bool lines = console().progress == ProgressStyle::kLines;
  return {.write =
              [](std::string_view text) {
                Terminal& t = terminal();
                const std::lock_guard lock(t.mutex);
                if (t.settings.level == LogLevel::kError) return;
                t.progress_line = text.starts_with(kEraseLine) ? std::string(text) : std::string{};
                write_stderr(text);
              },
          .seconds =
              [] {
                const auto now = std::chrono::steady_clock::now().time_since_epoch();
                return std::chrono::duration<double>(now).count();
              },
          .is_terminal = !lines && isatty(STDERR_FILENO) == 1};
}

// The line that changes, or the lines.
class ProgressLine final : public Reporter::Work {
 public:
  ProgressLine(std::string label, std::int64_t total, std::string unit, ProgressBackend backend)
      : label_(std::move(label)),
        total_(total),
        unit_(std::move(unit)),
        backend_(std::move(backend)),
        start_(backend_.seconds()),
        next_show_(start_ + kQuietSeconds) {}
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine() override {
    if (!shown_) return;
    const std::string last = line(backend_.seconds() - start_) + "\n";
    backend_.write(backend_.is_terminal ? "\r\033[K" + last : last);
    if (backend_.is_terminal) backend_.write("");  // nothing is left to redraw
  }

  void advance(std::int64_t count, std::string_view note) override {
    done_ += count;
    if (!note.empty()) note_ = note;
    const double now = backend_.seconds();
    if (now >= next_show_) show(now);
  }

 private:
  [[nodiscard]] std::string line(double elapsed) const;
  void show(double now);

  std::string label_;
  std::int64_t total_;
  std::string unit_;
  ProgressBackend backend_;
  std::int64_t done_ = 0;
  std::string note_;
  double start_;
  double next_show_;
  bool shown_ = false;
};

void ProgressLine::show(double now) {
  shown_ = true;
  next_show_ = now + (backend_.is_terminal ? kRedrawSeconds : kLineSeconds);
  const std::string text = line(now - start_);
  backend_.write(backend_.is_terminal ? std::string(kEraseLine) + text : text + "\n");
}

std::string ProgressLine::line(double elapsed) const {
  const double rate = elapsed > 0 ? static_cast<double>(done_) / elapsed : 0;
  std::string text = label_ + ' ';
  if (total_ > 0) {
    constexpr int kBarWidth = 24;
    const double share =
        std::clamp(static_cast<double>(done_) / static_cast<double>(total_), 0.0, 1.0);
    const int filled = static_cast<int>(share * kBarWidth);
    if (backend_.is_terminal)
      text += '[' + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "] ";
    text += fmt::format("{:3.0f}% {}/{} {}", std::floor(share * 100), done_, total_, unit_);
  } else {
    text += fmt::format("{} {}", done_, unit_);
  }
  text += fmt::format(", {:.{}f} {}/s", rate, rate < 10 ? 2 : 0, unit_);
  if (total_ > done_ && rate > 0)
    text += fmt::format(", {} left", human_seconds(static_cast<double>(total_ - done_) / rate));
  else
    text += fmt::format(", {}", human_seconds(elapsed));
  if (!note_.empty()) text += ", " + note_;
  return text;
}

class ConsoleReporter final : public Reporter {
 public:
  void log(LogLevel level, std::string_view text) override {
    Terminal& t = terminal();
    const std::lock_guard lock(t.mutex);
    if (level > t.settings.level) return;
    std::string out;
    if (!t.progress_line.empty()) out += kEraseLine;
    out += fmt::format("{}{}\n", prefix(level), printable(text));
    out += t.progress_line;
    write_stderr(out);
  }
  std::unique_ptr<Work> begin(std::string label, std::int64_t total, std::string unit) override {
    return std::make_unique<ProgressLine>(std::move(label), total, std::move(unit),
                                          standard_backend());
  }
  bool interrupted() noexcept override { return signalled(); }
};

// Holds text back until the end of its line, so that no character comes in two halves.
class PrintableBuffer final : public std::streambuf {
 public:
  explicit PrintableBuffer(std::streambuf* to) : to_(to) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    held_.append(text, static_cast<std::size_t>(count));
    const std::size_t end = held_.rfind('\n') + 1;  // 0 where there is none
    return pass(end) ? count : 0;
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }
  int sync() override { return pass(held_.size()) ? to_->pubsync() : -1; }

 private:
  bool pass(std::size_t count) {
    const std::string text = printable(std::string_view(held_).substr(0, count), Lines::kMany);
    held_.erase(0, count);
    const auto size = static_cast<std::streamsize>(text.size());
    return to_->sputn(text.data(), size) == size;
  }

  std::streambuf* to_;
  std::string held_;
};

}  // namespace

PrintableOutput::PrintableOutput()
    : filter_(std::make_unique<PrintableBuffer>(std::cout.rdbuf())),
      before_(std::cout.rdbuf(filter_.get())) {}

PrintableOutput::~PrintableOutput() {
  std::cout.flush();
  std::cout.rdbuf(before_);
}

void set_console(const ConsoleSettings& settings) {
  const std::lock_guard lock(terminal().mutex);
  terminal().settings = settings;
}

ConsoleSettings console() {
  const std::lock_guard lock(terminal().mutex);
  return terminal().settings;
}

Reporter& console_reporter() {
  static ConsoleReporter instance;
  return instance;
}

void log_line(LogLevel level, std::string_view text) { reporter().log(level, text); }

Progress::Progress(std::string label, std::int64_t total, std::string unit)
    : work_(reporter().begin(std::move(label), total, std::move(unit))) {}

Progress::Progress(std::string label, std::int64_t total, std::string unit, ProgressBackend backend)
    : work_(std::make_unique<ProgressLine>(std::move(label), total, std::move(unit),
                                           std::move(backend))) {}

}  // namespace obol
