// What a run needs to go on from a step: one file, there as a whole or not at all.
//
//   write_checkpoint(path, {.step = 100, .recipe = hash, .ledger = ledger.head(),
//                           .sections = {{"generator", bytes}, {"optimizer", bytes}}});
//   Checkpoint checkpoint = read_checkpoint(path);
//
// What the sections hold is the method's affair: texts, or numbers in the layout of
// obol/base/tensor_file.h (version 1 of the file had sections that torch wrote, and is refused). It
// must not be the state of the generator from
// which noise and samples are drawn, which would give them away (a SecureBits has none to give).
//
// The file: "OBOLCKPT", version and size of the header (32 bits each, least significant byte
// first), the header as JSON, the sections one after the other, and the SHA-256 of all that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "obol/base/file.h"
#include "obol/privacy/ledger.h"
#include "obol/run/folder.h"

namespace obol::run {

using Sections = std::map<std::string, std::string>;  // names and opaque bytes

struct Checkpoint {
  std::int64_t step = 0;                      // the last one that was taken
  double seconds = 0;                         // of training up to there
  std::string recipe;                         // RunFolder::recipe_hash()
  std::optional<privacy::LedgerHead> ledger;  // none where nothing is private
  Sections sections;
};

// On disk when it returns. DataError where the disk is full or fails; what was there before is then
// still there.
void write_checkpoint(const Path& path, const Checkpoint& checkpoint);

// DataError, with the offset, on anything that write_checkpoint would not have written.
Checkpoint read_checkpoint(const Path& path);
Checkpoint read_checkpoint(const Bytes& bytes);

}  // namespace obol::run
