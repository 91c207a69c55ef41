// Records one block after the other, for data that need not fit into memory.
//
//   const auto records = data::stream("mnist");
//   while (records->left() > 0) {
//     const Private<Dataset> block = records->next(1000);   // without labels
//     ...
//   }
//
// IDX, NPZ, NPY (in C's order) and folders of pictures come block by block; CSV is read whole.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/data/reader.h"

namespace obol::data {

class RecordStream {
 public:
  RecordStream(const ImageShape& shape, std::int64_t count) : shape_(shape), count_(count) {}
  virtual ~RecordStream() = default;
  RecordStream(const RecordStream&) = delete;
  RecordStream& operator=(const RecordStream&) = delete;

  [[nodiscard]] const ImageShape& shape() const noexcept { return shape_; }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }
  [[nodiscard]] std::int64_t left() const noexcept { return count_ - done_; }

  // `most` records, or as many as are left.
  Private<Dataset> next(std::int64_t most) { return Private<Dataset>(read_next(most)); }
  // Of all records; these are in memory at once.
  Private<Labels> labels() { return Private<Labels>(read_labels()); }

 protected:
  // What a stream reads from another, to change it on the way.
  static Dataset read_next_of(RecordStream& source, std::int64_t most) {
    return source.read_next(most);
  }
  static Labels read_labels_of(RecordStream& source) { return source.read_labels(); }
  // The index of the record that comes next.
  [[nodiscard]] std::int64_t done() const noexcept { return done_; }

 private:
  // [count, channels, height, width]; the last call must leave nothing in the file.
  virtual Pixels read(std::int64_t count) = 0;
  virtual Labels read_labels() = 0;
  Dataset read_next(std::int64_t most);

  ImageShape shape_;
  std::int64_t count_;
  std::int64_t done_ = 0;
};

std::unique_ptr<RecordStream> stream(const std::string& path, const ReadOptions& options = {});

}  // namespace obol::data
