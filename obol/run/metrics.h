// metrics.jsonl: numbers over the steps of a run, one line of JSON each time.
//
//   MetricsLog log(folder.metrics(), 0);
//   log.append(100, seconds, {{"self_cost", Public(cost, Origin::kSyntheticOnly)}});
//   // {"step":100,"seconds":12.3,"self_cost":0.51}
//
// The file leaves with the run, so a number gets in only as a Public, for which someone stated
// where it comes from: a loss against private data, a drawn batch's size or a clip fraction have no
// origin to state. They go to UnsafeDiagnostics, which takes them as Private and opens them only
// inside private/.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "obol/run/folder.h"

namespace obol::run {

// Why a number may be shown.
enum class Origin {
  kReleased,       // it passed a barrier, or was computed from nothing else
  kSyntheticOnly,  // of generated or public data, networks and constants
  kTiming,         // of clocks and counters of the machine; no guarantee covers these
};

class Public {
 public:
  Public(double value, Origin origin) : value_(value), origin_(origin) {}
  [[nodiscard]] double value() const noexcept { return value_; }
  [[nodiscard]] Origin origin() const noexcept { return origin_; }

 private:
  double value_;
  Origin origin_;
};

// What a metric is called whose value is a bound, so that no copy of it may be rounded down.
inline constexpr const char* kEpsilonName = "epsilon";

struct Metric {
  std::string name;
  Public value;
};

// What leaves a run has its times in tenths of a second: what a single step took would say more
// about its batch than anyone needs to know.
double in_tenths(double seconds);

class MetricsLog {
 public:
  // Rows after `last_step` are cut off, as is a torn last line: a resumed run writes them again.
  MetricsLog(const Path& path, std::int64_t last_step);

  // With the kernel when it returns. Steps must rise; numbers that are not finite become null.
  void append(std::int64_t step, double seconds, const std::vector<Metric>& metrics);
  void synchronise() { file_.synchronise(); }

 private:
  AppendFile file_;
  std::int64_t last_step_;
};

struct MetricsRow {
  std::int64_t step;
  double seconds;
  std::map<std::string, double> values;  // null is NaN
};

// Without a torn last line; DataError, with the line, on anything else that is none of ours.
std::vector<MetricsRow> read_metrics(const Path& path);

// Numbers about private data, for whoever develops a method on data that they may look at anyway:
// private/diagnostics.jsonl. What is not asked for is not opened.
class UnsafeDiagnostics {
 public:
  UnsafeDiagnostics() = default;  // not asked for
  // Warns, and states each name once in the folder's disclosures.
  UnsafeDiagnostics(const RunFolder& folder, std::int64_t last_step);

  void append(std::int64_t step, std::string_view name, const Private<double>& value);
  [[nodiscard]] bool is_asked_for() const noexcept { return file_.has_value(); }

 private:
  std::optional<Disclosures> disclosures_;
  std::optional<AppendFile> file_;
};

}  // namespace obol::run
