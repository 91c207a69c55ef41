// The section [privacy] of a recipe, in which everything stands that buys privacy, and nothing
// else. Which of its keys are needed, and what they mean, is for the method to say, in its plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "obol/base/error.h"
#include "obol/recipe/fields.h"

namespace obol::method {

// What is clipped: each generated row, all rows together, each private record.
enum class Barrier { kRow, kBatch, kRecord, kNone };

std::string_view name_of(Barrier barrier);
// InvalidArgument where it is none.
Barrier barrier_from(std::string_view name);

struct PrivacyOptions {
  // No defaults: what buys privacy must be said.
  std::optional<Barrier> barrier;
  std::optional<double> sampling_rate;
  std::optional<std::int64_t> shards;
  std::optional<std::string> schedule;
  std::optional<double> noise_multiplier;
  std::optional<std::int64_t> steps;  // of training that release something
  std::optional<std::int64_t> spare_steps;
  std::optional<std::int64_t> generated_batch;
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<double> histogram_noise;
  std::optional<std::int64_t> validation_releases;
  std::optional<double> validation_noise;
  std::optional<std::string> follows;  // the name of a method that a paper is about

  void describe(recipe::Fields& fields);
};

// InvalidArgument where a key of [privacy] is missing.
template <class T>
T needed(const std::optional<T>& value, const char* key) {
  if (!value) throw InvalidArgument(violation(std::string("privacy.") + key, "given", "missing"));
  return *value;
}

}  // namespace obol::method
