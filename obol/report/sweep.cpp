#include "obol/report/sweep.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/text.h"
#include "obol/method/certificates.h"
#include "obol/report/plot.h"
#include "obol/run/folder.h"

namespace obol::report {
namespace {

using evaluate::ClassifierScore;
using nlohmann::ordered_json;

constexpr const char* kEpsilonKey = "privacy.epsilon";

std::optional<Spread> spread(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const double value : values) mean += value / count;
  double squares = 0;
  for (const double value : values) squares += std::pow(value - mean, 2);
  if (values.size() == 1) return Spread{mean, std::nullopt};
  return Spread{mean, std::sqrt(squares / (count - 1))};
}

// The largest of the runs: that of none is more.
std::optional<double> epsilon(const SweepPoint& point) {
  std::optional<double> largest;
  for (const SweepRun& run : point.runs)
    if (run.epsilon) largest = std::max(largest.value_or(0), *run.epsilon);
  return largest;
}

std::optional<Spread> seconds(const SweepPoint& point) {
  std::vector<double> values;
  for (const SweepRun& run : point.runs)
    if (run.outcome) values.push_back(run.outcome->seconds);
  return spread(values);
}

// "failed", or what else there is to know before the figures are believed.
std::string state(const Sweep& sweep, const SweepPoint& point) {
  std::string text;
  for (const SweepRun& run : point.runs) {
    if (!run.error.empty()) return "failed";
    if (!run.is_trained())
      text = "not finished";
    else if (text.empty() && !run.evaluation && !sweep.classifiers.empty())
      text = "not evaluated";
    else if (text.empty() && run.outcome->ending == run::Ending::kBudget)
      text = "stopped by the budget";
  }
  return text;
}

// Repetitions fail alike, as a rule: each error once.
std::vector<std::string> errors(const SweepPoint& point) {
  std::vector<std::string> found;
  for (const SweepRun& run : point.runs)
    if (!run.error.empty() && std::find(found.begin(), found.end(), run.error) == found.end())
      found.push_back(run.error);
  return found;
}

// Columns as wide as their widest cell.
std::string aligned(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t k = 0; k < row.size(); ++k) widths[k] = std::max(widths[k], row[k].size());
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t k = 0; k < row.size(); ++k) line += fmt::format("{:<{}}  ", row[k], widths[k]);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

std::string in_percent(const std::optional<Spread>& found) {
  if (!found) return "-";
  std::string text = fmt::format("{:.1f}%", 100 * found->mean);
  if (found->deviation) text += fmt::format(" +- {:.1f}", 100 * *found->deviation);
  return text;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c;
    if (c == '"') quoted += c;
  }
  return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::vector<std::string> quoted;
  for (const std::string& cell : cells) quoted.push_back(csv_cell(cell));
  return join(quoted, ",") + '\n';
}

std::string csv_number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

template <class T>
ordered_json json_or_null(const std::optional<T>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

ordered_json json_of(const SweepRun& run, const std::vector<std::string>& classifiers) {
  ordered_json value = {{"folder", run.folder},
                        {"outcome", nullptr},
                        {"steps", nullptr},
                        {"seconds", nullptr},
                        {"epsilon", json_or_null(run.epsilon)},
                        {"accuracy", ordered_json::object()},
                        {"error", nullptr}};
  if (run.outcome) {
    value["outcome"] = run::in_words(*run.outcome);
    value["steps"] = run.outcome->steps;
    value["seconds"] = run.outcome->seconds;
  }
  for (const std::string& classifier : classifiers)
    if (const ClassifierScore* score =
            run.evaluation ? find_score(*run.evaluation, classifier) : nullptr)
      value["accuracy"][classifier] = json_or_null(score->accuracy);
  if (!run.error.empty()) value["error"] = run.error;
  return value;
}

// Which key is drawn against; keys.size() where none has numbers.
std::size_t drawn_key(const std::vector<recipe::GridKey>& keys) {
  const auto is_numeric = [](const recipe::GridKey& key) { return key.numbers().has_value(); };
  auto at = std::find_if(keys.begin(), keys.end(), [&](const recipe::GridKey& key) {
    return key.key == kEpsilonKey && is_numeric(key);
  });
  if (at == keys.end()) at = std::find_if(keys.begin(), keys.end(), is_numeric);
  return static_cast<std::size_t>(at - keys.begin());
}

// "self_weight 0.5, clip_norm 3": the values of all keys but one.
std::string others(const Sweep& sweep, const SweepPoint& point, std::size_t but) {
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < sweep.keys.size(); ++k)
    if (k != but) parts.push_back(fmt::format("{} {}", sweep.keys[k].short_name, point.values[k]));
  return join(parts, ", ");
}

PlotScale scale_for(double low, double high, double steep) {
  if (low > 0 && high / low >= steep) return PlotScale::kLogarithmic;
  return high > low ? PlotScale::kAroundData : PlotScale::kFromZero;
}

void add_point(Plot& plot, const std::string& line, double x, const std::optional<Spread>& y) {
  if (!y) return;
  auto at = std::find_if(plot.lines.begin(), plot.lines.end(),
                         [&](const PlotLine& drawn) { return drawn.name == line; });
  if (at == plot.lines.end())
    at = plot.lines.insert(at, {.name = line, .points = {}, .dots = PlotDots::kShown});
  at->points.emplace_back(x, 100 * y->mean);
}

}  // namespace

SweepRun read_sweep_run(const Path& sweep, const std::string& name) {
  SweepRun run{.folder = name};
  const Path path = sweep / name;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return run;
  try {
    const auto folder = run::RunFolder::open(path);
    run.outcome = run::read_outcome(folder);
    if (std::filesystem::exists(folder.certificate(), ignored))
      run.epsilon = method::verify_certificate(path).guarantee.epsilon;
    run.evaluation = evaluate::read_evaluation(folder.evaluation());
  } catch (const Error& error) {
    run.error = error.what();
  }
  return run;
}

std::optional<Spread> accuracy(const SweepPoint& point, const std::string& classifier) {
  std::vector<double> values;
  std::optional<double> of_seeds;
  for (const SweepRun& run : point.runs) {
    const ClassifierScore* score =
        run.evaluation ? find_score(*run.evaluation, classifier) : nullptr;
    if (score == nullptr || !score->accuracy) continue;
    values.push_back(*score->accuracy);
    if (run.evaluation->seeds.value_or(1) > 1) of_seeds = score->deviation;
  }
  std::optional<Spread> found = spread(values);
  if (found && values.size() == 1) found->deviation = of_seeds;
  return found;
}

std::string not_covered_by_sweep(const Path& folder) {
  return fmt::format(
      "Each epsilon is of one run alone. Choosing among runs is covered by none of their "
      "certificates, unless all are accounted for together: obol account {}",
      folder.string());
}

std::string to_text(const Sweep& sweep) {
  std::vector<std::string> heading;
  for (const recipe::GridKey& key : sweep.keys) heading.push_back(key.short_name);
  heading.emplace_back("certified epsilon");
  heading.insert(heading.end(), sweep.classifiers.begin(), sweep.classifiers.end());
  heading.emplace_back("training");
  heading.emplace_back("");
  std::vector<std::vector<std::string>> rows = {heading};
  std::string below;
  for (const SweepPoint& point : sweep.points) {
    std::vector<std::string>& row = rows.emplace_back(point.values);
    const std::optional<double> spent = epsilon(point);
    row.push_back(spent ? rounded_up(*spent) : "-");
    for (const std::string& classifier : sweep.classifiers)
      row.push_back(in_percent(accuracy(point, classifier)));
    const std::optional<Spread> time = seconds(point);
    row.push_back(time ? human_seconds(time->mean) : "-");
    row.push_back(state(sweep, point));
    for (const std::string& error : errors(point))
      below += fmt::format("{}: {}\n", point.runs.front().folder, error);
  }
  return aligned(rows) + (below.empty() ? "" : "\n" + below);
}

std::string to_csv(const Sweep& sweep) {
  std::vector<std::string> heading;
  for (const recipe::GridKey& key : sweep.keys) heading.push_back(key.key);
  heading.insert(heading.end(), {"runs", "certified_epsilon"});
  for (const std::string& classifier : sweep.classifiers)
    heading.insert(heading.end(), {classifier, classifier + "_deviation"});
  heading.insert(heading.end(), {"training_seconds", "state", "error"});
  std::string text = csv_line(heading);
  for (const SweepPoint& point : sweep.points) {
    std::vector<std::string> row = point.values;
    row.push_back(
        fmt::format("{}", std::count_if(point.runs.begin(), point.runs.end(),
                                        [](const auto& run) { return run.is_trained(); })));
    row.push_back(csv_number(epsilon(point)));
    for (const std::string& classifier : sweep.classifiers) {
      const std::optional<Spread> found = accuracy(point, classifier);
      row.push_back(csv_number(found ? std::optional(found->mean) : std::nullopt));
      row.push_back(csv_number(found ? found->deviation : std::nullopt));
    }
    const std::optional<Spread> time = seconds(point);
    row.push_back(csv_number(time ? std::optional(time->mean) : std::nullopt));
    row.push_back(state(sweep, point));
    row.push_back(join(errors(point), "; "));
    text += csv_line(row);
  }
  return text;
}

std::string to_json(const Sweep& sweep) {
  ordered_json value = {
      {"format", "obol-sweep"},         {"version", 1},
      {"recipe", sweep.recipe},         {"set", sweep.overrides},
      {"grid", ordered_json::object()}, {"not_covered", not_covered_by_sweep("DIR")},
      {"points", ordered_json::array()}};
  for (const recipe::GridKey& key : sweep.keys) value["grid"][key.key] = key.values;
  for (const SweepPoint& point : sweep.points) {
    ordered_json& row = value["points"].emplace_back(
        ordered_json{{"values", ordered_json::object()},
                     {"certified_epsilon", json_or_null(epsilon(point))},
                     {"accuracy", ordered_json::object()},
                     {"state", state(sweep, point)},
                     {"runs", ordered_json::array()}});
    for (std::size_t k = 0; k < sweep.keys.size(); ++k)
      row["values"][sweep.keys[k].key] = point.values[k];
    for (const std::string& classifier : sweep.classifiers)
      if (const auto found = accuracy(point, classifier))
        row["accuracy"][classifier] = {{"mean", found->mean},
                                       {"deviation", json_or_null(found->deviation)}};
    for (const SweepRun& run : point.runs) row["runs"].push_back(json_of(run, sweep.classifiers));
  }
  return value.dump(2, ' ', false, ordered_json::error_handler_t::replace) + '\n';
}

std::optional<std::string> to_svg(const Sweep& sweep) {
  const std::size_t drawn = drawn_key(sweep.keys);
  if (drawn == sweep.keys.size() || sweep.classifiers.empty()) return std::nullopt;
  const recipe::GridKey& key = sweep.keys[drawn];
  const bool is_single = sweep.keys.size() == 1;
  Plot plot{.title = is_single ? fmt::format("Accuracy against {}", key.short_name)
                               : fmt::format("Accuracy of {} against {}", sweep.classifiers.back(),
                                             key.short_name),
            .x_label = key.key,
            .y_label = "accuracy, %"};
  for (const SweepPoint& point : sweep.points) {
    const double x = *parse_number(point.values[drawn]);
    if (is_single)
      for (const std::string& classifier : sweep.classifiers)
        add_point(plot, classifier, x, accuracy(point, classifier));
    else
      add_point(plot, others(sweep, point, drawn), x, accuracy(point, sweep.classifiers.back()));
  }
  if (plot.lines.empty()) return std::nullopt;
  std::pair<double, double> x = {INFINITY, -INFINITY};
  std::pair<double, double> y = x;
  for (PlotLine& line : plot.lines) {
    std::sort(line.points.begin(), line.points.end());
    plot.description += line.name + ":";
    for (const auto& [px, py] : line.points) {
      plot.description += fmt::format(" {:.4g} at {},", py, rounded_up(px, 4));
      x = {std::min(x.first, px), std::max(x.second, px)};
      y = {std::min(y.first, py), std::max(y.second, py)};
    }
    plot.description.back() = ';';
    plot.description += ' ';
  }
  plot.description += "choosing among these runs is not covered by their certificates.";
  constexpr double kSteep = 8;  // from the first to the last: powers rather than steps
  plot.x_scale = scale_for(x.first, x.second, kSteep);
  plot.y_scale = scale_for(y.first, y.second, INFINITY);
  return plot_svg(plot);
}

void write_sweep(const Sweep& sweep, const Path& folder) {
  write_file(folder / "sweep.csv", to_csv(sweep));
  write_file(folder / "sweep.json", to_json(sweep));
  const std::optional<std::string> svg = to_svg(sweep);
  if (svg) {
    write_file(folder / "sweep.svg", *svg);
    return;
  }
  std::error_code ignored;  // one of an earlier table would lie
  std::filesystem::remove(folder / "sweep.svg", ignored);
}

}  // namespace obol::report
