// For tests: random bits that a test chooses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "obol/base/random.h"

namespace obol::test {

// Hands out what it was given, to see what is done with each word.
class ScriptedBits final : public RandomBits {
 public:
  explicit ScriptedBits(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  result_type operator()() override { return words_.at(next_++); }
  void fill(std::span<std::uint64_t> words) override {
    for (std::uint64_t& word : words) word = (*this)();
  }
  [[nodiscard]] bool is_private() const noexcept override { return false; }
  [[nodiscard]] std::string provenance() const override { return "scripted"; }
  [[nodiscard]] std::size_t taken() const { return next_; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t next_ = 0;
};

}  // namespace obol::test
