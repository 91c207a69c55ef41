// Event files for TensorBoard, without TensorFlow: scalars and pictures.
//
//   TensorBoard board(folder.tensorboard(), 0);
//   board.scalars(100, {{"self_cost", Public(cost, Origin::kSyntheticOnly)}});
//   board.picture(100, "samples", shape, png);
//
//   $ tensorboard --logdir runs/a
//
// A file is a row of records: length, its checksum, an Event (a protocol buffer), its checksum.
// A resumed run starts a new file in the same folder, which tells TensorBoard from which step on
// the files before are void.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "obol/data/dataset.h"
#include "obol/run/append_file.h"
#include "obol/run/metrics.h"

namespace obol::run {

class TensorBoard {
 public:
  // What earlier files have after `last_step` is void.
  TensorBoard(const Path& folder, std::int64_t last_step);

  void scalars(std::int64_t step, const std::vector<Metric>& metrics);
  void picture(std::int64_t step, std::string_view tag, const data::ImageShape& shape,
               std::span<const std::byte> png);

 private:
  void event(std::int64_t step, std::string_view content);

  AppendFile file_;
};

// CRC-32C (Castagnoli), as the records' checksums have it before they are masked.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace obol::run
