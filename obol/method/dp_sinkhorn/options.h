// What a recipe says about DP-Sinkhorn, besides the price ([privacy]) and the network
// ([generator]).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "obol/method/optimizer_options.h"
#include "obol/recipe/fields.h"

namespace obol::method::dp_sinkhorn {

inline constexpr const char* kName = "dp-sinkhorn";

// Of a step with barrier row, batch or none.
struct RowStepOptions {
  std::string cost = "mixture:1";
  double label_weight = 15;
  double resample = 0.4;
  std::string solver = "annealed";
  std::int64_t max_iterations = 500;
  std::string perturb = "images";

  void describe_rows(recipe::Fields& fields);
};

// Of a step with barrier record.
struct RecordStepOptions {
  std::int64_t second_batch = 400;
  double self_weight = 1;
  double self_weight_start = 0.5;
  double self_weight_rise = 0.7;
  std::string features = "pixels";
  std::int64_t potential_iterations = 30;

  void describe_records(recipe::Fields& fields);
};

// The section [method].
struct MethodOptions : RowStepOptions, RecordStepOptions {
  std::string name = kName;
  double clip_norm = 0.5;
  double regularization = 0.05;
  double average = 0;  // decay of the released moving average of the weights; 0: none
  std::optional<std::int64_t> seed;

  void describe(recipe::Fields& fields);
};

// Step `step` of `steps`, from 1.
double self_weight_at(const RecordStepOptions& options, std::int64_t step, std::int64_t steps);

}  // namespace obol::method::dp_sinkhorn
