// Writing data sets where others can open them, and one picture of many samples.
//
//   write(data, "x.npz", Format::kNpz);
//   write_png(sample_grid(data, {.columns = 10}), "grid.png");
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "obol/base/file.h"
#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/data/picture.h"

namespace obol::data {

enum class Format { kNpz, kIdx, kPng };

// By the form of the path: "x.npz", "folder/*.png", "folder/*-ubyte"; nothing for other forms.
std::optional<Format> format_of_path(const std::string& path);

// kNpz writes one file; kIdx and kPng a new folder (CLASS/000123.png, or 000123.png unlabelled).
void write(const Dataset& data, const std::string& path, Format format);

// The file or folder that such a path names.
Path written_path(const std::string& path);

struct GridOptions {
  std::int64_t columns = 10;
  // Rows of unlabelled data; labelled data has one row per class.
  std::int64_t rows = 10;
  // Enlarges small pictures by a whole factor; 0 chooses one that is good to look at.
  std::int64_t scale = 0;
};

// One row per class, pictures drawn at random from it. Shows real records if the data is real.
Picture sample_grid(const Dataset& data, const GridOptions& options, RandomBits& bits);

}  // namespace obol::data
