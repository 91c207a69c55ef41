// Faults in the calls by which a ledger reaches the disk. This program's own write, fsync and
// rename stand before the C library's; a plan says at which call what goes wrong.
//
//   plan = {.call = 3, .fault = Fault::kDieHalfway};   // the fourth call from now
#pragma once

#include <cstdint>

namespace obol::faults {

enum class Fault {
  kNone,
  kDieBefore,    // the process is killed before the call
  kDieHalfway,   // ... when a write has put half of its bytes into the file
  kDieAfter,     // ... after the call
  kFail,         // the call does nothing and fails: EIO, or ENOSPC for a write
  kFailHalfway,  // a write puts half of its bytes into the file, the next one fails with ENOSPC
  kInterrupt,    // the call does nothing and says EINTR, once
  kShort,        // a write puts half of its bytes into the file and says so
};

struct Plan {
  std::int64_t call = -1;  // counts down; never, where negative
  Fault fault = Fault::kNone;
};

// Of this process.
Plan& plan();

}  // namespace obol::faults
