// CSV of pixels, one record a line. The range of the numbers is declared, for a CSV file has no
// types. The label column is the one named label or class, or, without a header, the first where
// there are classes or the rest makes a square picture; ReadOptions::label_column says otherwise.
#pragma once

#include "obol/base/file.h"
#include "obol/data/dataset.h"
#include "obol/data/reader.h"

namespace obol::data {

Dataset read_csv(const Bytes& bytes, const ReadOptions& options = {});

}  // namespace obol::data
