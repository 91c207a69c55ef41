// Data sets that are kept in sheets: every row of a PNG picture is one record, its pixels line by
// line, and the labels are a JSON array.
//
//   write_idx_of_sheets({.images = {"1.png", "2.png"}, .labels = "labels.json",
//                        .shape = {.channels = 3, .height = 32, .width = 32}, .classes = 10},
//                       folder, "train-");
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/data/dataset.h"

namespace obol::data {

struct Sheets {
  std::vector<Path> images;  // in this order
  Path labels;               // one file for all sheets
  ImageShape shape;
  std::int64_t classes = 0;
};

// FOLDER/<start>images-idx4-ubyte (idx3 in grey) and FOLDER/<start>labels-idx1-ubyte. One sheet is
// in memory at a time. DataError where rows, channels or the number of labels do not fit.
void write_idx_of_sheets(const Sheets& sheets, const Path& folder, const std::string& start);

}  // namespace obol::data
