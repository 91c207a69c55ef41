// obol plot: a column of a table against another, as a picture
#include "obol/report/plot.h"

#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/app.h"
#include "obol/base/file.h"
#include "obol/base/text.h"

namespace obol::cli {
namespace {

struct PlotArguments {
  std::string table;
  std::string x;
  std::string y;
  std::string by;
  std::string title;
  std::string out;
  bool log_x = false;
  bool log_y = false;
};

// Plain commas, a line of names first.
class Table {
 public:
  explicit Table(const std::string& path) : path_(path) {
    constexpr std::uint64_t kLargest = std::uint64_t{1} << 24;
    for (const std::string& line : split(read_text(path, kLargest), '\n'))
      if (!trim(line).empty()) rows_.push_back(split(trim(line), ','));
    if (rows_.size() < 2)
      throw DataError(violation("the table", "a line of names and rows below", "shorter", path));
    for (std::size_t k = 1; k < rows_.size(); ++k)
      if (rows_[k].size() != rows_[0].size())
        throw DataError(violation(fmt::format("row {}", k),
                                  fmt::format("of {} columns", rows_[0].size()), rows_[k].size(),
                                  path));
  }

  [[nodiscard]] std::size_t rows() const { return rows_.size() - 1; }
  [[nodiscard]] std::size_t column(const std::string& name) const {
    for (std::size_t k = 0; k < rows_[0].size(); ++k)
      if (rows_[0][k] == name) return k;
    throw InvalidArgument(
        violation("a column", fmt::format("one of {}", join(rows_[0], ", ")), name, path_));
  }
  [[nodiscard]] const std::string& text(std::size_t row, std::size_t column) const {
    return rows_[row + 1][column];
  }
  [[nodiscard]] double number(std::size_t row, std::size_t column) const {
    const std::optional<double> value = parse_number(text(row, column));
    if (!value)
      throw DataError(violation(fmt::format("{} in row {}", rows_[0][column], row + 1), "a number",
                                text(row, column), path_));
    return *value;
  }

 private:
  std::string path_;
  std::vector<std::vector<std::string>> rows_;
};

report::Plot plot_of(const PlotArguments& arguments) {
  const Table table(arguments.table);
  const std::size_t x = table.column(arguments.x);
  const std::size_t y = table.column(arguments.y);
  report::Plot plot{
      .title = arguments.title.empty() ? fmt::format("{} against {}", arguments.y, arguments.x)
                                       : arguments.title,
      .x_label = arguments.x,
      .y_label = arguments.y,
      .x_scale = arguments.log_x ? report::PlotScale::kLogarithmic : report::PlotScale::kFromZero,
      .y_scale = arguments.log_y ? report::PlotScale::kLogarithmic : report::PlotScale::kFromZero};
  std::map<std::string, std::size_t> lines;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string name =
        arguments.by.empty() ? arguments.y : table.text(row, table.column(arguments.by));
    const auto [at, is_new] = lines.try_emplace(name, plot.lines.size());
    if (is_new)
      plot.lines.push_back({.name = name, .points = {}, .dots = report::PlotDots::kShown});
    plot.lines[at->second].points.emplace_back(table.number(row, x), table.number(row, y));
  }
  return plot;
}

}  // namespace

void add_plot(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand("plot", "one column of a CSV table against another");
  auto arguments = std::make_shared<PlotArguments>();
  command->add_option("table", arguments->table, "a CSV file with a line of names")->required();
  command->add_option("--x", arguments->x, "the column across")->required();
  command->add_option("--y", arguments->y, "the column upwards")->required();
  command->add_option("--by", arguments->by, "one line for each value of this column");
  command->add_option("--title", arguments->title, "above the plot");
  command->add_flag("--log-x", arguments->log_x, "logarithmic across");
  command->add_flag("--log-y", arguments->log_y, "logarithmic upwards");
  command->add_option("--out", arguments->out, "the SVG file")->required();
  command->callback([&action, arguments] {
    action = [arguments] {
      write_file(arguments->out, report::plot_svg(plot_of(*arguments)));
      std::cout << arguments->out << '\n';
      return ExitCode::kOk;
    };
  });
}

}  // namespace obol::cli
