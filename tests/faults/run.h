// A run that spends privacy, for tests that kill it: it reserves in blocks, takes, releases.
//
//   SharedCounter used;
//   execute_in_child({.path = path, .used = &used}, {.call = 3, .fault = Fault::kDieHalfway});
//   EXPECT_GE(recorded(path), used.value());
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "obol/base/file.h"
#include "obol/privacy/event.h"
#include "tests/faults/calls.h"

namespace obol::faults {

inline const privacy::Event kStep =
    privacy::SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 0.8, .count = 1};

// In memory that parent and child share, so that it survives the child.
class SharedCounter {
 public:
  SharedCounter();
  ~SharedCounter();
  SharedCounter(const SharedCounter&) = delete;
  SharedCounter& operator=(const SharedCounter&) = delete;
  void add(std::int64_t count) { *value_ += count; }
  [[nodiscard]] std::int64_t value() const { return value_->load(); }

 private:
  std::atomic<std::int64_t>* value_;
};

struct Run {
  Path path;
  std::int64_t block = 10;
  std::int64_t steps = 25;   // then it settles and stops
  std::int64_t planned = 0;  // 0: without a plan
  SharedCounter* used = nullptr;
};

enum class Ending { kKilled, kStopped, kRefused };  // kRefused: by an obol::Error

// Creates the ledger or goes on with it, in a child that has the plan. With `lifetime`, kills the
// child after so many microseconds.
Ending execute_in_child(const Run& run, const Plan& plan_of_child,
                        std::optional<std::int64_t> lifetime = {});

// The steps that the ledger counts; 0 where there is no ledger yet.
std::int64_t recorded(const Path& path);

}  // namespace obol::faults
