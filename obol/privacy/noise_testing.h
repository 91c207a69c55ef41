// For tests of noise: does a long row of draws look like the law it should have?
//
//   EXPECT_EQ(faults_of(draws, kNormal), std::vector<std::string>{});
//
// Each check rejects good draws with probability below 3e-12 (a few below 3e-11), and there are
// fewer than 70: together, below 1e-9. What the checks can see is shown by tests that plant faults.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "obol/base/random.h"
#include "obol/testing/bits.h"

namespace obol::privacy::testing {

struct Law {
  double (*mass_above)(double x);  // for x >= 0; the law is symmetric
  double second_moment;
  double fourth_moment;
  double sixth_moment;
  double eighth_moment;
};
extern const Law kNormal;
extern const Law kLaplace;

// One line per check that fails. At least 2^20 draws, a multiple of four of them.
std::vector<std::string> faults_of(std::span<const double> draws, const Law& law);

// Hands out another's words and keeps them.
class RecordedBits final : public RandomBits {
 public:
  explicit RecordedBits(RandomBits& source) : source_(source) {}
  result_type operator()() override {
    words_.push_back(source_());
    return words_.back();
  }
  void fill(std::span<std::uint64_t> words) override {
    source_.fill(words);
    words_.insert(words_.end(), words.begin(), words.end());
  }
  [[nodiscard]] bool is_private() const noexcept override { return false; }
  [[nodiscard]] std::string provenance() const override { return "recorded"; }
  std::vector<std::uint64_t> take() { return std::exchange(words_, {}); }

 private:
  RandomBits& source_;
  std::vector<std::uint64_t> words_;
};

}  // namespace obol::privacy::testing
