#include "obol/data/writer.h"

#include <algorithm>
#include <array>
#include <numeric>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/interrupt.h"
#include "obol/data/idx.h"
#include "obol/data/npz.h"

namespace obol::data {
namespace {

namespace fs = std::filesystem;

// Class names come from files too: what is no plain name becomes one.
std::string folder_name(const std::string& class_name, std::size_t index) {
  std::string name = class_name;
  for (char& c : name)
    if (c == '/' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = '_';
  return name.empty() || name.starts_with('.') ? fmt::format("class_{}", index) : name;
}

// One folder per class, also where two names became the same.
std::vector<std::string> folder_names(const std::vector<std::string>& class_names) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < class_names.size(); ++i) {
    std::string name = folder_name(class_names[i], i);
    while (std::find(names.begin(), names.end(), name) != names.end())
      name += fmt::format("_{}", i);
    names.push_back(std::move(name));
  }
  return names;
}

void write_pngs(const Dataset& data, const Path& folder) {
  if (data.shape.channels != 1 && data.shape.channels != 3)
    throw DataError(violation("the number of channels", "1 or 3 in PNG", data.shape.channels));
  AtomicFolder out(folder);
  const std::vector<std::string> folders = folder_names(data.class_names);
  for (const std::string& name : folders) fs::create_directory(out.inside() / name);
  Progress progress("writing", data.count(), "pictures");
  for (std::int64_t i = 0; i < data.count(); ++i) {
    check_interrupt();
    const Path inner =
        data.is_labelled()
            ? out.inside() /
                  folders[static_cast<std::size_t>(data.labels[static_cast<std::size_t>(i)])]
            : out.inside();
    write_png({data.shape, record_bytes(data, i)}, inner / fmt::format("{:06}.png", i));
    progress.advance(1);
  }
  out.commit();
}

// Up to `count` of `candidates`, drawn without replacement.
std::vector<std::int64_t> draw(std::vector<std::int64_t> candidates, std::size_t count,
                               RandomBits& bits) {
  count = std::min(count, candidates.size());
  for (std::size_t i = 0; i < count; ++i)
    std::swap(candidates[i], candidates[i + bits.below(candidates.size() - i)]);
  candidates.resize(count);
  return candidates;
}

std::vector<std::vector<std::int64_t>> grid_rows(const Dataset& data, const GridOptions& options,
                                                 RandomBits& bits) {
  const auto columns = static_cast<std::size_t>(options.columns);
  std::vector<std::vector<std::int64_t>> rows;
  if (data.is_labelled()) {
    std::vector<std::vector<std::int64_t>> by_class(data.class_names.size());
    for (std::size_t i = 0; i < data.labels.size(); ++i)
      by_class[static_cast<std::size_t>(data.labels[i])].push_back(static_cast<std::int64_t>(i));
    for (auto& members : by_class) rows.push_back(draw(std::move(members), columns, bits));
    return rows;
  }
  std::vector<std::int64_t> all(static_cast<std::size_t>(data.count()));
  std::iota(all.begin(), all.end(), 0);
  const auto chosen = draw(std::move(all), columns * static_cast<std::size_t>(options.rows), bits);
  for (std::size_t i = 0; i < chosen.size(); i += columns)
    rows.emplace_back(
        chosen.begin() + static_cast<std::ptrdiff_t>(i),
        chosen.begin() + static_cast<std::ptrdiff_t>(std::min(i + columns, chosen.size())));
  return rows;
}

struct Corner {
  std::int64_t top = 0;
  std::int64_t left = 0;
};

// Copies a record into the grid, every pixel `scale` times in both directions.
void paste(const std::vector<std::uint8_t>& record, const ImageShape& shape, std::int64_t scale,
           const Corner& corner, Picture& grid) {
  for (std::int64_t c = 0; c < grid.shape.channels; ++c) {
    for (std::int64_t y = 0; y < shape.height * scale; ++y) {
      const std::int64_t from = (c * shape.height + y / scale) * shape.width;
      const std::int64_t to =
          (c * grid.shape.height + corner.top + y) * grid.shape.width + corner.left;
      for (std::int64_t x = 0; x < shape.width * scale; ++x)
        grid.pixels[static_cast<std::size_t>(to + x)] =
            record[static_cast<std::size_t>(from + x / scale)];
    }
  }
}

}  // namespace

// "folder/*.png" -> "folder"
Path written_path(const std::string& path) {
  const Path given(path);
  return given.filename().string().starts_with("*") ? given.parent_path() : given;
}

std::optional<Format> format_of_path(const std::string& path) {
  if (path.ends_with(".npz")) return Format::kNpz;
  if (path.ends_with("/*.png")) return Format::kPng;
  if (path.ends_with("/*-ubyte")) return Format::kIdx;
  return std::nullopt;
}

void write(const Dataset& data, const std::string& path, Format format) {
  switch (format) {
    case Format::kNpz:
      return write_npz(data, path);
    case Format::kIdx:
      return write_idx(data, written_path(path));
    case Format::kPng:
      return write_pngs(data, written_path(path));
  }
}

Picture sample_grid(const Dataset& data, const GridOptions& options, RandomBits& bits) {
  const auto rows = grid_rows(data, options, bits);
  constexpr std::int64_t kGap = 2;
  constexpr std::int64_t kGoodSide = 56;
  constexpr std::uint8_t kPaper = 96;  // a grey that neither black nor white pictures melt into
  const std::int64_t longest = std::max(data.shape.height, data.shape.width);
  const std::int64_t scale =
      options.scale > 0 ? options.scale : std::max<std::int64_t>(1, kGoodSide / longest);
  const std::int64_t cell_height = data.shape.height * scale + kGap;
  const std::int64_t cell_width = data.shape.width * scale + kGap;
  Picture grid{{.channels = data.shape.channels == 3 ? 3 : 1,
                .height = static_cast<std::int64_t>(rows.size()) * cell_height + kGap,
                .width = options.columns * cell_width + kGap},
               {}};
  grid.pixels.assign(static_cast<std::size_t>(grid.shape.pixels()), kPaper);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t k = 0; k < rows[r].size(); ++k)
      paste(record_bytes(data, rows[r][k]), data.shape, scale,
            {.top = kGap + static_cast<std::int64_t>(r) * cell_height,
             .left = kGap + static_cast<std::int64_t>(k) * cell_width},
            grid);
  }
  return grid;
}

}  // namespace obol::data
