// Data sets in NumPy's archive: `images` [count, height, width] or [count, height, width,
// channels], bytes or floats, and `labels` [count].
#pragma once

#include "obol/base/file.h"
#include "obol/data/dataset.h"
#include "obol/data/reader.h"

namespace obol::data {

// Also understands the names and layouts that others use: x, x_train, x_test, data, arr_0 with y,
// y_train, y_test, arr_1; train_images, val_images, test_images with train_labels, ..., as MedMNIST
// has them; [count, channels, height, width]; flat rows; labels [count, 1].
Dataset read_npz(const Bytes& bytes, const ReadOptions& options = {});

void write_npz(const Dataset& data, const Path& path);

}  // namespace obol::data
