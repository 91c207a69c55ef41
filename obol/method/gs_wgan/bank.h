// Critics that are not at work: on disk, a file each, with as many in memory as may be.
//
//   CriticBank bank({.folder = folder.make_private() / "critics", .numbers = critic.state_size()});
//   Private<CriticState> state = bank.take(17);     // from memory or from its file
//   ... train it: the numbers are shared ...
//   bank.flush();                                   // with a checkpoint: all of them are in files
//
// The files are as private as the data. One that is half written, or of another size, counts as
// missing.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>

#include "obol/base/file.h"
#include "obol/data/private.h"
#include "obol/model/critic.h"

namespace obol::method::gs_wgan {

using model::CriticState;

struct BankOptions {
  Path folder;
  std::int64_t numbers = 0;  // of one state
  torch::Device device = torch::kCPU;
  std::int64_t most_bytes = std::int64_t{1} << 30;  // in memory
};

class CriticBank {
 public:
  explicit CriticBank(BankOptions options);

  [[nodiscard]] bool has(std::int64_t number) const;
  // The file of one, past the memory. DataError where there is none.
  [[nodiscard]] Private<CriticState> read(std::int64_t number) const;
  void write(std::int64_t number, const Private<CriticState>& state) const;

  void put(std::int64_t number, const Private<CriticState>& state);
  // To be changed by the caller before the next flush.
  Private<CriticState> take(std::int64_t number);
  void flush();

 private:
  [[nodiscard]] Path file_of(std::int64_t number) const;
  void keep(std::int64_t number, const Private<CriticState>& state);

  BankOptions options_;
  std::map<std::int64_t, Private<CriticState>> in_memory_;
  std::list<std::int64_t> by_use_;  // the last used first
  std::set<std::int64_t> taken_;    // those in memory that are ahead of their files
};

}  // namespace obol::method::gs_wgan
