// Whose turn it is: shards in a public order, each as often as the others, or drawn at random.
//
//   Turns turns({.schedule = "cyclic", .shards = 1000}, ledger, paid);
//   Turn turn = turns.next();      // {.shard = 17, .use = 3}: its third turn
//
// A turn that was given is never given again, whatever ends the process: turns are reserved in the
// ledger in blocks, and a run that was killed goes on behind the block. So the uses that are
// counted for a shard are never fewer than its answers. The ledger is the only record of turns, so
// that no other file can be lost or replaced by an older copy.
//
// A server of federated clients has no ledger, and its clients count their own answers: there a
// file keeps the turns.
//
// The order is public, and so is a draw: nothing that is counted relies on its being secret.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/privacy/ledger.h"

namespace obol::privacy {

// "cyclic": in order, round after round; "uniform": drawn, by a public generator of random numbers.
std::int64_t shard_at(const std::string& schedule, std::int64_t shards, std::int64_t turn);
// Of the shard that has most of the first `turns` turns.
std::int64_t most_uses(const std::string& schedule, std::int64_t shards, std::int64_t turns);

struct TurnsOptions {
  std::string schedule = "cyclic";
  std::int64_t shards = 1;
};

struct Turn {
  std::int64_t shard;
  std::int64_t use;  // of this shard, from 1
};

class Turns {
 public:
  // Goes on where the ledger, which must outlive this, says. `paid` is how many answers of every
  // shard it has. DataError where it has turns of other options, or turns of fewer answers than
  // were paid for: then nobody knows which shards gave those answers.
  Turns(const TurnsOptions& options, Ledger& ledger, std::int64_t paid);
  // Goes on where `file` says. DataError where it is of other options.
  Turns(const TurnsOptions& options, Path file);

  // On disk when it returns.
  Turn next();
  // At a clean stop, or with a checkpoint: what is reserved and was not given can be given later.
  void settle();
  [[nodiscard]] std::int64_t given() const noexcept { return given_; }

 private:
  void go_to(std::int64_t reserved);
  void write(std::int64_t reserved);

  TurnsOptions options_;
  Ledger* ledger_ = nullptr;
  Path file_;
  std::int64_t given_ = 0;
  std::int64_t reserved_ = 0;
  std::vector<std::int64_t> uses_;
};

}  // namespace obol::privacy
