#include "obol/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "obol/base/interrupt.h"
#include "obol/base/text.h"
#include "obol/data/pixels.h"

namespace obol::data {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 24;

// Lines out of a stream, without their ends.
class LineReader {
 public:
  // Where the reading is private, `where` does not tell the line.
  LineReader(Stream& stream, Reading reading) : stream_(stream), reading_(reading) {}

  bool next(std::string& line) {
    line.clear();
    while (true) {
      if (used_ == filled_) {
        filled_ = stream_.read(std::as_writable_bytes(std::span(buffer_)));
        used_ = 0;
        if (filled_ == 0) break;
      }
      const auto begin = buffer_.begin() + static_cast<std::ptrdiff_t>(used_);
      const auto end = buffer_.begin() + static_cast<std::ptrdiff_t>(filled_);
      const auto newline = std::find(begin, end, '\n');
      line.append(begin, newline);
      used_ += static_cast<std::size_t>(newline - begin) + (newline == end ? 0 : 1);
      if (line.size() > kLongestLine)
        throw DataError(violation("a CSV line", fmt::format("at most {} characters", kLongestLine),
                                  "longer", where()));
      if (newline != end) {
        ++number_;
        return true;
      }
    }
    ++number_;
    return !line.empty();
  }

  [[nodiscard]] std::string where() const {
    if (reading_ == Reading::kPrivate) return stream_.name();
    return fmt::format("{}:{}", stream_.name(), number_);
  }

 private:
  Stream& stream_;
  Reading reading_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 16);
  std::size_t used_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t number_ = 0;
};

struct Columns {
  std::size_t count = 0;
  std::optional<std::size_t> label;

  [[nodiscard]] std::size_t pixels() const { return count - (label ? 1 : 0); }
};

std::optional<std::size_t> named_column(const std::vector<std::string>& header,
                                        const std::string& name) {
  for (std::size_t i = 0; i < header.size(); ++i)
    if (to_lower(trim(header[i])) == to_lower(name)) return i;
  return std::nullopt;
}

std::optional<float> parse_cell(std::string_view cell) {
  cell = trim(cell);
  float value = 0;
  const auto [stop, status] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (status != std::errc{} || stop != cell.data() + cell.size()) return std::nullopt;
  return value;
}

// No number at all, or a column for labels among numbered ones. A line with one odd cell is not a
// header but a mistake.
bool is_header_line(const std::vector<std::string>& cells) {
  return named_column(cells, "label") || named_column(cells, "class") ||
         std::none_of(cells.begin(), cells.end(),
                      [](const std::string& cell) { return parse_cell(cell).has_value(); });
}

// A column that the user named; else one called label or class; else, with no header, the first if
// there are classes or the rest is a square.
std::optional<std::size_t> find_label(const std::vector<std::string>& first, bool is_header,
                                      const ReadOptions& options, const std::string& where) {
  const std::optional<std::string>& wanted = options.label_column;
  if (wanted && *wanted == "none") return std::nullopt;
  if (wanted) {
    if (is_header)
      if (const auto named = named_column(first, *wanted)) return named;
    const auto number = parse_integer(*wanted);
    if (!number || *number < 0 || static_cast<std::size_t>(*number) >= first.size())
      throw InvalidArgument(violation("the label column", "one that the file has", *wanted, where));
    return static_cast<std::size_t>(*number);
  }
  if (is_header) {
    const auto label = named_column(first, "label");
    return label ? label : named_column(first, "class");
  }
  if (options.declared.classes.value_or(0) > 0) return 0;
  // Without classes, and all that is declared is pixels.
  if (options.declared.classes && options.declared.size) return std::nullopt;
  const bool rest_is_square = first.size() > 1 && shape_of_flat(first.size() - 1).height > 1;
  const bool all_is_square = shape_of_flat(first.size()).height > 1;
  return rest_is_square && !all_is_square ? std::optional<std::size_t>(0) : std::nullopt;
}

// As many as the declared size has pixels, else as many as the first line has.
Columns find_columns(const std::vector<std::string>& first, bool is_header,
                     const ReadOptions& options, const std::string& where) {
  Columns columns{.count = first.size(), .label = find_label(first, is_header, options, where)};
  if (const auto& size = options.declared.size)
    columns.count =
        static_cast<std::size_t>(size->width * size->height) + (columns.label ? 1U : 0U);
  if (columns.pixels() == 0)
    throw DataError(violation("a CSV line", "one with pixels", "without any", where));
  return columns;
}

// The numbers of a file, before anything says what they mean.
struct Table {
  Columns columns;
  std::vector<float> pixels;   // [count, columns.pixels()]
  std::vector<double> labels;  // [count], or none
  std::int64_t count = 0;
};

void check_length(const std::vector<std::string>& cells, const Columns& columns,
                  const std::string& where) {
  if (cells.size() != columns.count)
    throw DataError(violation("a CSV line", fmt::format("{} cells long", columns.count),
                              fmt::format("{} cells long", cells.size()), where));
}

// The cells of a record, or DataError.
std::vector<float> parse_line(const std::vector<std::string>& cells, const Columns& columns,
                              const std::string& where) {
  check_length(cells, columns, where);
  std::vector<float> values;
  values.reserve(cells.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto value = parse_cell(cells[i]);
    if (!value)
      throw DataError(
          violation(fmt::format("cell {}", i), "a number", cells[i].substr(0, 40), where));
    values.push_back(*value);
  }
  return values;
}

// A record that is not as declared and not to be refused has no number in it.
std::vector<float> parse_record(const std::vector<std::string>& cells, const Columns& columns,
                                const std::string& where, const ReadOptions& options,
                                const std::string& source) {
  try {
    return parse_line(cells, columns, where);
  } catch (const DataError& error) {
    on_outside(options, source, error.what());
    return std::vector<float>(columns.count, std::numeric_limits<float>::quiet_NaN());
  }
}

Table parse_table(const Bytes& bytes, const ReadOptions& options) {
  const auto stream = open_stream(bytes, options.limits);
  LineReader lines(*stream, options.reading);
  std::string line;
  Table table;
  Columns& columns = table.columns;
  while (lines.next(line)) {
    if (trim(line).empty()) continue;
    check_interrupt();
    const std::vector<std::string> cells = split(line, ',');
    if (columns.count == 0) {
      const bool is_header = is_header_line(cells);
      columns = find_columns(cells, is_header, options, lines.where());
      if (is_header) {
        check_length(cells, columns, lines.where());
        continue;
      }
    }
    const std::vector<float> record =
        parse_record(cells, columns, lines.where(), options, bytes.name());
    for (std::size_t i = 0; i < record.size(); ++i) {
      if (i == columns.label)
        table.labels.push_back(record[i]);
      else
        table.pixels.push_back(record[i]);
    }
    ++table.count;
  }
  if (table.count == 0)
    throw DataError(violation("the number of records", "at least 1", 0, bytes.name()));
  return table;
}

ImageShape shape_of(const Table& table, const ReadOptions& options, const std::string& where) {
  const ImageShape shape = shape_of_flat(table.columns.pixels(), options.declared);
  check_shape(shape, options.declared, where);
  return shape;
}

Labels labels_of(const Table& table, const ReadOptions& options, const std::string& where) {
  if (!table.columns.label) return settled_labels(std::nullopt, options, where);
  return settled_labels(table.labels, options, where);
}

class CsvReader final : public Reader {
 public:
  CsvReader(const Path& path, ReadOptions options) : bytes_(path), options_(std::move(options)) {}

  Description describe() override {
    const Table table = parse_table(bytes_, options_);
    Dataset only_labels;
    take_labels(labels_of(table, options_, bytes_.name()), only_labels);
    return {.format = "CSV",
            .shape = shape_of(table, options_, bytes_.name()),
            .count = table.count,
            .class_names = only_labels.class_names,
            .class_counts = class_counts(only_labels),
            .are_bytes = false};
  }

  Dataset read() override { return read_csv(bytes_, options_); }

  std::optional<NumbersSeen> see_numbers() override {
    const Table table = parse_table(bytes_, options_);
    return numbers_seen(table.pixels, table.columns.pixels());
  }

 private:
  FileBytes bytes_;
  ReadOptions options_;
};

}  // namespace

Dataset read_csv(const Bytes& bytes, const ReadOptions& options) {
  // A CSV file has no types, and values must not decide what they mean.
  if (!options.declared.range) refuse_undeclared("range", bytes.name());
  Table table = parse_table(bytes, options);
  Dataset data{.shape = shape_of(table, options, bytes.name()),
               .pixels = {},
               .labels = {},
               .class_names = {},
               .declared_size = table.count};
  take_labels(labels_of(table, options, bytes.name()), data);
  data.pixels =
      unit_pixels(std::move(table.pixels), *options.declared.range, table.columns.pixels());
  return data;
}

std::unique_ptr<Reader> open_csv(const Path& path, const ReadOptions& options) {
  require_whole(options, path.string());
  require_classes(options, path.string());
  // Else the first record would decide how many cells the others must have.
  if (options.declared.maps())
    require_declared(options.declared.size.has_value(), "size", options, path.string());
  return std::make_unique<CsvReader>(path, options);
}

}  // namespace obol::data
