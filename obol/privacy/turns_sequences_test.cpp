// Runs of shards that take turns, under random sequences of what people and machines do to them:
// what the ledger has is never less than what any shard answered.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/random.h"
#include "obol/privacy/guard.h"
#include "obol/privacy/ledger_testing.h"
#include "obol/privacy/turns.h"

namespace obol::privacy {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPurpose = "training";
const Event kAnswer = Gaussian{.noise_multiplier = 5, .count = 1};

// A training without images: it takes turns and pays as GS-WGAN does, and counts its answers.
class FakeRun {
 public:
  FakeRun(const Path& folder, SeededBits& bits) : folder_(folder), bits_(bits) {
    fs::create_directory(own());
    Ledger::create(ledger_path(), some_header(Neighbours::kReplaceOne));
    write_file(own() / "critic", "0");
  }

  void act() {
    switch (bits_.below(8)) {
      case 0:
      case 1:
      case 2:
        return train();
      case 3:
        return evaluate_with_noise();
      case 4:
        fs::remove_all(own());  // and what older versions kept there
        return;
      case 5:
        fs::remove_all(copy());
        if (fs::exists(own())) fs::copy(own(), copy());
        return;
      case 6:
        if (!fs::exists(copy())) return;
        fs::remove_all(own());
        fs::copy(copy(), own());
        return;
      default:
        return tear();
    }
  }

  [[nodiscard]] std::int64_t answered() const {
    return *std::max_element(answers_.begin(), answers_.end());
  }
  // By the ledger, without what was paid for something else.
  [[nodiscard]] std::int64_t recorded() const {
    return times(read_ledger(ledger_path()).spent(), kAnswer) - noisy_;
  }

 private:
  [[nodiscard]] Path ledger_path() const { return folder_ / "ledger.jsonl"; }
  [[nodiscard]] Path own() const { return folder_ / "private"; }
  [[nodiscard]] Path copy() const { return folder_ / "copy"; }

  // Up to 80 turns, with a checkpoint now and then; ended by a kill before or after a payment or
  // an answer, or cleanly.
  void train() {
    Ledger ledger = Ledger::open(ledger_path());
    BudgetGuard guard(ledger, std::nullopt, {.block = 1});
    std::int64_t paid = ledger.record().paid(kPurpose, kAnswer);
    Turns turns({.schedule = schedule_, .shards = shards_}, ledger, paid);
    const auto last = static_cast<std::int64_t>(bits_.below(80));
    const std::uint64_t ending = bits_.below(4);
    fs::create_directories(own());
    for (std::int64_t k = 0; k <= last; ++k) {
      const Turn turn = turns.next();
      if (k == last && ending == 0) return;
      for (; paid < turn.use; ++paid) guard.pay_once(kPurpose, kAnswer);
      if (k == last && ending == 1) return;
      ++answers_[static_cast<std::size_t>(turn.shard)];
      if (bits_.below(40) == 0) {
        write_file(own() / "critic", std::to_string(k));
        turns.settle();
      }
    }
    if (ending == 2) return;
    turns.settle();
    guard.settle();
  }

  void evaluate_with_noise() {
    Ledger ledger = Ledger::open(ledger_path());
    BudgetGuard guard(ledger, std::nullopt);
    for (std::uint64_t k = bits_.below(20); k > 0; --k, ++noisy_)
      guard.pay_once("validation accuracy", kAnswer);
  }

  // A line that was not finished, and so was not relied on; or the last bytes of one that was.
  void tear() {
    if (bits_.below(2) == 0) {
      constexpr std::string_view kLine = R"({"kind":"turns","sequence":7,"time":"2026-01-31T)";
      std::ofstream(ledger_path(), std::ios::app) << kLine.substr(0, 1 + bits_.below(kLine.size()));
    } else if (!read_ledger(ledger_path()).entries.empty()) {
      constexpr std::uint64_t kOfTheHash = 60;
      fs::resize_file(ledger_path(), fs::file_size(ledger_path()) - 1 - bits_.below(kOfTheHash));
    }
    Ledger::open(ledger_path());  // what is torn twice is no torn line
  }

  Path folder_;
  SeededBits& bits_;
  std::string schedule_ = bits_.below(2) == 0 ? "cyclic" : "uniform";
  std::int64_t shards_ = 1 + static_cast<std::int64_t>(bits_.below(12));
  std::vector<std::int64_t> answers_ = std::vector<std::int64_t>(static_cast<std::size_t>(shards_));
  std::int64_t noisy_ = 0;  // evaluations, whose event is that of an answer
};

TEST(SequencesOfCommands, NeverAnswerMoreThanTheLedgerHas) {
  if (fs::is_directory("/dev/shm")) setenv("TMPDIR", "/dev/shm", 1);  // NOLINT: no other thread
  SeededBits bits(20261118);
  std::int64_t most = 0;
  for (int sequence = 0; sequence < 1000; ++sequence) {
    const TemporaryFolder folder;
    FakeRun run(folder.path(), bits);
    for (int k = 0; k < 8; ++k) {
      run.act();
      ASSERT_GE(run.recorded(), run.answered()) << "sequence " << sequence << ", action " << k;
    }
    most = std::max(most, run.answered());
  }
  EXPECT_GT(most, 50);  // there was something to count
}

}  // namespace
}  // namespace obol::privacy
