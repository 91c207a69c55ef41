#include "obol/run/metrics.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/console.h"

namespace obol::run {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 30;
constexpr const char* kStep = "step";
constexpr const char* kSeconds = "seconds";

struct Line {
  std::string text;  // with its newline
  json value;
};

// The whole lines of a file, or nothing where there is no file. The last may be torn: killed
// between two halves of a write, or followed by NULs after a power cut.
std::vector<Line> read_lines(const Path& path) {
  std::vector<Line> lines;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return lines;
  const std::string all = read_text(path, kLargestFile);
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = std::min(all.find('\n', at), all.size() - 1) + 1;
    std::string text = all.substr(at, end - at);
    json value = json::parse(text, nullptr, false);
    const bool is_whole = text.back() == '\n' && value.is_object() && value.contains(kStep) &&
                          value[kStep].is_number_integer();
    if (!is_whole && end < all.size())
      throw DataError(violation("a line of metrics", "a JSON object with a step", "something else",
                                fmt::format("{}:{}", path.string(), lines.size() + 1)));
    if (is_whole) lines.push_back({std::move(text), std::move(value)});
    at = end;
  }
  return lines;
}

void cut_after(const Path& path, std::int64_t last_step) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  std::string kept;
  for (const Line& line : read_lines(path))
    if (line.value[kStep].get<std::int64_t>() <= last_step) kept += line.text;
  if (kept.size() != std::filesystem::file_size(path)) write_file(path, kept);
}

// Cuts before it opens: the cut puts a new file in the old one's place.
AppendFile open_cut(const Path& path, std::int64_t last_step) {
  cut_after(path, last_step);
  return AppendFile(path);
}

std::string text_of(const ordered_json& line) {
  return line.dump(-1, ' ', false, json::error_handler_t::replace) + '\n';
}

}  // namespace

double in_tenths(double seconds) {
  constexpr double kTenths = 10;
  return std::round(seconds * kTenths) / kTenths;
}

MetricsLog::MetricsLog(const Path& path, std::int64_t last_step)
    : file_(open_cut(path, last_step)), last_step_(last_step) {}

void MetricsLog::append(std::int64_t step, double seconds, const std::vector<Metric>& metrics) {
  if (step <= last_step_)
    throw InvalidArgument(
        violation("the step of a metric", fmt::format("after {}", last_step_), step));
  ordered_json line = {{kStep, step}, {kSeconds, in_tenths(seconds)}};
  for (const Metric& metric : metrics) {
    if (metric.name.empty() || line.contains(metric.name))
      throw InvalidArgument(violation("the name of a metric", "given, and given once",
                                      fmt::format("'{}'", metric.name)));
    line[metric.name] = metric.value.value();  // null unless finite
  }
  file_.append(text_of(line));
  last_step_ = step;
}

std::vector<MetricsRow> read_metrics(const Path& path) {
  std::vector<MetricsRow> rows;
  for (const Line& line : read_lines(path)) {
    MetricsRow row{.step = line.value[kStep].get<std::int64_t>(), .seconds = 0, .values = {}};
    for (const auto& [name, value] : line.value.items()) {
      const double number =
          value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
      if (name == kSeconds)
        row.seconds = number;
      else if (name != kStep)
        row.values[name] = number;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

UnsafeDiagnostics::UnsafeDiagnostics(const RunFolder& folder, std::int64_t last_step)
    : disclosures_(folder) {
  log_warning("unsafe diagnostics are on: {} is outside the guarantee and must not be released",
              folder.make_private().string());
  file_.emplace(open_cut(folder.diagnostics(), last_step));
}

void UnsafeDiagnostics::append(std::int64_t step, std::string_view name,
                               const Private<double>& value) {
  if (!is_asked_for()) return;
  const auto open = value.declassify(fmt::format("unsafe diagnostics: {}", name), *disclosures_);
  file_->append(text_of({{kStep, step}, {name, open.value}}));
}

}  // namespace obol::run
