// IDX, the format of MNIST: a big-endian header and unsigned bytes. Plain or gzip.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/data/dataset.h"
#include "obol/data/stream.h"

namespace obol::data {

struct IdxHeader {
  std::vector<std::uint64_t> dimensions;
};

IdxHeader read_idx_header(Stream& stream);
// Of unsigned bytes.
std::string idx_header(const std::vector<std::int64_t>& dimensions);

// [count, height, width] or [count, height, width, channels], unlabelled.
Dataset read_idx_images(const Bytes& bytes, const ReadLimits& limits = {});
std::vector<std::int32_t> read_idx_labels(const Bytes& bytes, const ReadLimits& limits = {});

// FOLDER/images-idx3-ubyte (idx4 in colour) and, if labelled, FOLDER/labels-idx1-ubyte.
void write_idx(const Dataset& data, const Path& folder);

}  // namespace obol::data
