// For the tests of barriers: a ledger, a guard and a door, and draws of whatever a test wants.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "obol/barrier/door.h"
#include "obol/barrier/records.h"
#include "obol/base/file.h"
#include "obol/base/random.h"
#include "obol/privacy/ledger.h"

namespace obol::barrier::testing {

class BarrierTest : public ::testing::Test {
 protected:
  TemporaryFolder folder;
  privacy::Ledger ledger = privacy::Ledger::create(folder.path() / "ledger.jsonl",
                                                   {.neighbours = privacy::Neighbours::kAddRemove,
                                                    .records = 1000,
                                                    .fingerprint = "test",
                                                    .randomness = "test"});
  privacy::BudgetGuard guard{ledger, std::nullopt, {.block = 100000}};
  SeededBits bits{7};
  Door door{guard, bits};

  void SetUp() override { torch::manual_seed(1); }
  double taken(const privacy::Event& event) {
    guard.settle();
    double count = 0;
    for (const privacy::Event& one : ledger.spent())
      if (privacy::same_mechanism(one, event)) count += static_cast<double>(count_of(one));
    return count;
  }
  std::int64_t taken(const privacy::Event& event, std::string_view purpose) {
    guard.settle();
    return ledger.record().paid(purpose, event);
  }
};

// Only records are drawn: what a test wants released takes the place of a sample of one record.
template <class T>
Drawn<T> drawn(const T& value, double rate = 0.1) {
  static const PrivateRecords records(
      Private<data::Dataset>(data::Dataset{.shape = {.channels = 1, .height = 1, .width = 1},
                                           .pixels = std::vector<std::uint8_t>{0},
                                           .declared_size = 1}),
      {});
  SeededBits draws(1);
  return records.draw(rate, draws).map([&](const Sample& /*sample*/) { return value; });
}

class OpenLog final : public DisclosureLog {
 public:
  void record(std::string_view /*reason*/) override {}
};

// What is inside.
template <class T>
T opened(const Private<T>& value) {
  OpenLog log;
  return value.declassify("a test looks inside", log).value;
}

}  // namespace obol::barrier::testing
