// CSV of pixels: one record a line, whole numbers 0..255 or fractions, a label column or none.
#include "obol/data/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "obol/base/interrupt.h"
#include "obol/base/text.h"
#include "obol/data/pixels.h"
#include "obol/data/record_stream.h"

namespace obol::data {
namespace {

constexpr std::size_t kLongestLine = std::size_t{1} << 24;

// Lines out of a stream, without their ends.
class LineReader {
 public:
  explicit LineReader(Stream& stream) : stream_(stream) {}

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

  [[nodiscard]] std::string where() const { return fmt::format("{}:{}", stream_.name(), number_); }

 private:
  Stream& stream_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 16);
  std::size_t used_ = 0;
  std::size_t filled_ = 0;
  std::uint64_t number_ = 0;
};

struct Columns {
  std::size_t count = 0;
  std::optional<std::size_t> label;
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
// the rest is a square.
Columns find_columns(const std::vector<std::string>& first, bool is_header,
                     const std::optional<std::string>& wanted, const std::string& where) {
  Columns columns{.count = first.size(), .label = std::nullopt};
  if (wanted && *wanted == "none") return columns;
  if (wanted) {
    if (is_header) columns.label = named_column(first, *wanted);
    const auto number = parse_integer(*wanted);
    if (!columns.label && number && *number >= 0 &&
        static_cast<std::size_t>(*number) < first.size())
      columns.label = static_cast<std::size_t>(*number);
    if (!columns.label)
      throw InvalidArgument(violation("the label column", "one that the file has", *wanted, where));
    return columns;
  }
  if (is_header) {
    for (const char* name : {"label", "class"})
      if (!columns.label) columns.label = named_column(first, name);
    return columns;
  }
  const bool rest_is_square = first.size() > 1 && shape_of_flat(first.size() - 1).height > 1;
  const bool all_is_square = shape_of_flat(first.size()).height > 1;
  if (rest_is_square && !all_is_square) columns.label = 0;
  return columns;
}

// Keeps whole numbers 0..255 as bytes, a quarter of the memory, for as long as there is nothing
// else.
class Collector {
 public:
  void add(float value) {
    if (floats_.empty()) {
      if (value >= 0.0F && value <= 255.0F && value == std::trunc(value)) {
        bytes_.push_back(static_cast<std::uint8_t>(value));
        return;
      }
      floats_.assign(bytes_.begin(), bytes_.end());
      bytes_ = {};
    }
    floats_.push_back(value);
  }
  Pixels finish(const std::optional<ValueRange>& range, std::size_t per_record,
                const std::string& where) {
    // Zeros and ones alone are black and white, as they are in other formats.
    const bool is_binary =
        std::none_of(bytes_.begin(), bytes_.end(), [](std::uint8_t b) { return b > 1; });
    if (floats_.empty() && !range && !is_binary) return std::move(bytes_);
    if (floats_.empty()) floats_.assign(bytes_.begin(), bytes_.end());
    return to_pixels(std::move(floats_), range, per_record, where);
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::vector<float> floats_;
};

std::int32_t label_of(float value, const std::string& where) {
  constexpr float kMostClasses = 65536;
  if (value < 0 || value >= kMostClasses || value != std::trunc(value))
    throw DataError(violation("a label", "a whole number from 0 to 65535", value, where));
  return static_cast<std::int32_t>(value);
}

class CsvReader final : public Reader {
 public:
  CsvReader(const Path& path, ReadOptions options) : bytes_(path), options_(std::move(options)) {}

  Description describe() override {
    const Dataset data = read();
    return {.format = "CSV",
            .shape = data.shape,
            .count = data.count(),
            .class_names = data.class_names,
            .class_counts = class_counts(data)};
  }

  Dataset read() override { return read_csv(bytes_, options_); }

  std::unique_ptr<RecordStream> stream() override {
    // Without it the values decide what they mean: a CSV file has no types.
    if (!options_.range)
      throw InvalidArgument(violation("--range",
                                      "given for a CSV file that is read record by record",
                                      "missing", bytes_.name()));
    return Reader::stream();
  }

 private:
  FileBytes bytes_;
  ReadOptions options_;
};

}  // namespace

Dataset read_csv(const Bytes& bytes, const ReadOptions& options) {
  const auto stream = open_stream(bytes, options.limits);
  LineReader lines(*stream);
  std::string line;
  Columns columns;
  Collector pixels;
  Dataset data;
  while (lines.next(line)) {
    if (trim(line).empty()) continue;
    check_interrupt();
    const std::vector<std::string> cells = split(line, ',');
    if (columns.count == 0) {
      const bool is_header = is_header_line(cells);
      columns = find_columns(cells, is_header, options.label_column, lines.where());
      if (columns.count == (columns.label ? 1U : 0U))
        throw DataError(violation("a CSV line", "one with pixels", "without any", lines.where()));
      if (is_header) continue;
    }
    if (cells.size() != columns.count)
      throw DataError(violation("a CSV line", fmt::format("{} cells long", columns.count),
                                fmt::format("{} cells long", cells.size()), lines.where()));
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto value = parse_cell(cells[i]);
      if (!value || !std::isfinite(*value))
        throw DataError(violation(fmt::format("cell {}", i), "a finite number",
                                  cells[i].substr(0, 40), lines.where()));
      if (i == columns.label)
        data.labels.push_back(label_of(*value, lines.where()));
      else
        pixels.add(*value);
    }
    ++data.declared_size;
  }
  if (data.declared_size == 0)
    throw DataError(violation("the number of records", "at least 1", 0, bytes.name()));
  const std::size_t per_record = columns.count - (columns.label ? 1 : 0);
  data.shape = shape_of_flat(per_record);
  data.pixels = pixels.finish(options.range, per_record, bytes.name());
  data.class_names = numbered_classes(data.labels);
  return data;
}

std::unique_ptr<Reader> open_csv(const Path& path, const ReadOptions& options) {
  require_whole(options, path.string());
  return std::make_unique<CsvReader>(path, options);
}

}  // namespace obol::data
