#include "obol/data/sheets.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "obol/base/error.h"
#include "obol/data/codecs.h"
#include "obol/data/idx.h"
#include "obol/data/stream.h"

namespace obol::data {
namespace {

constexpr std::uint64_t kLargestSheet = std::uint64_t{1} << 28;

std::vector<std::byte> content_of(const Path& path) {
  const FileBytes file(path);
  if (file.size() > kLargestSheet)
    throw DataError(violation("a sheet", fmt::format("of at most {} bytes", kLargestSheet),
                              file.size(), file.name()));
  std::vector<std::byte> content(file.size());
  file.read_exactly(0, content, "a sheet");
  return content;
}

std::string labels_of(const Sheets& sheets) {
  const std::vector<std::byte> content = content_of(sheets.labels);
  const auto* text = reinterpret_cast<const char*>(content.data());
  const auto found = nlohmann::json::parse(text, text + content.size(), nullptr, false);
  if (!found.is_array() || found.empty())
    throw DataError(violation("the labels of sheets", "a JSON array of numbers", "something else",
                              sheets.labels.string()));
  std::string labels;
  for (const nlohmann::json& label : found) {
    if (!label.is_number_unsigned() ||
        label.get<std::uint64_t>() >= static_cast<std::uint64_t>(sheets.classes))
      throw DataError(violation(fmt::format("label {}", labels.size()),
                                fmt::format("a whole number from 0 to {}", sheets.classes - 1),
                                label.dump(-1, ' ', true), sheets.labels.string()));
    labels += static_cast<char>(label.get<std::uint64_t>());
  }
  return labels;
}

// Its rows are records as IDX has them: line by line, channels last.
Picture read_sheet(const Path& path, const ImageShape& record) {
  Picture sheet = decode_png(content_of(path), path.string(), {.max_bytes = kLargestSheet});
  const std::int64_t pixels = record.height * record.width;
  if (sheet.shape.width != pixels || sheet.shape.channels != record.channels)
    throw DataError(violation(
        "a sheet", fmt::format("{} pixels wide with {} channels", pixels, record.channels),
        fmt::format("{} wide with {}", sheet.shape.width, sheet.shape.channels), path.string()));
  return sheet;
}

}  // namespace

void write_idx_of_sheets(const Sheets& sheets, const Path& folder, const std::string& start) {
  const std::string labels = labels_of(sheets);
  const auto count = static_cast<std::int64_t>(labels.size());
  const ImageShape& shape = sheets.shape;
  const bool in_colour = shape.channels > 1;
  AtomicFile images(folder / (start + (in_colour ? "images-idx4-ubyte" : "images-idx3-ubyte")));
  std::vector<std::int64_t> dimensions = {count, shape.height, shape.width};
  if (in_colour) dimensions.push_back(shape.channels);
  images.write(idx_header(dimensions));
  std::int64_t rows = 0;
  for (const Path& path : sheets.images) {
    const Picture sheet = read_sheet(path, shape);
    rows += sheet.shape.height;
    images.write(std::as_bytes(std::span(sheet.pixels)));
  }
  if (rows != count)
    throw DataError(violation("the number of labels", fmt::format("{}, the number of rows", rows),
                              count, sheets.labels.string()));
  images.commit();
  AtomicFile out(folder / (start + "labels-idx1-ubyte"));
  out.write(idx_header({count}));
  out.write(labels);
  out.commit();
}

}  // namespace obol::data
