// What the tests of this module share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "obol/base/error.h"
#include "obol/run/loop.h"

namespace obol::run {

// The message of the Error that `call` throws; empty where it throws none.
template <class Call>
std::string refusal(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Of which some sixty cost an epsilon of 1, which this accountant finds at once.
inline const privacy::Event kStep = privacy::Gaussian{.noise_multiplier = 40, .count = 1};
inline const privacy::Accounting kFast{.kind = privacy::AccountantKind::kRdp};

// A method whose state tells which steps it has taken, and in which order.
class Chain final : public Method {
 public:
  // `release` is called once for every step, after it was paid for.
  Chain(privacy::BudgetGuard* guard, std::function<void(std::int64_t)> release)
      : guard_(guard), release_(std::move(release)) {}

  static std::uint64_t after(std::int64_t steps) {
    std::uint64_t state = 0;
    for (std::int64_t step = 1; step <= steps; ++step) state = next(state, step);
    return state;
  }
  [[nodiscard]] std::uint64_t state() const noexcept { return state_; }
  [[nodiscard]] int starts() const noexcept { return starts_; }

  void start() override { ++starts_; }
  void step(std::int64_t step, UnsafeDiagnostics& diagnostics) override {
    if (guard_ != nullptr) guard_->pay("training", kStep);
    if (release_) release_(step);
    diagnostics.append(step, "secret", Private<double>(static_cast<double>(step)));
    state_ = next(state_, step);
    last_ = step;
  }
  Sections save() override { return {{"state", std::to_string(state_)}}; }
  void load(const Sections& sections) override { state_ = std::stoull(sections.at("state")); }
  std::vector<Metric> metrics() override {
    return {{"last", Public(static_cast<double>(last_), Origin::kSyntheticOnly)}};
  }
  std::optional<Samples> samples() override {
    return Samples{.shape = {1, 2, 2}, .pixels = std::vector<std::uint8_t>(16, 7), .columns = 2};
  }
  std::string generator() override { return "generator " + std::to_string(state_); }
  std::optional<std::string> teacher() override {
    if (!has_teacher) return std::nullopt;
    return "teacher " + std::to_string(state_);
  }

  bool has_teacher = false;

 private:
  static std::uint64_t next(std::uint64_t state, std::int64_t step) {
    constexpr std::uint64_t kFactor = 6364136223846793005;
    return (state + static_cast<std::uint64_t>(step)) * kFactor;
  }

  privacy::BudgetGuard* guard_;
  std::function<void(std::int64_t)> release_;
  std::uint64_t state_ = 0;
  std::int64_t last_ = 0;
  int starts_ = 0;
};

}  // namespace obol::run
