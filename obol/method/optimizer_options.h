// What a recipe says about the optimiser of a generator, without LibTorch.
#pragma once

#include <cstdint>
#include <string>

#include "obol/recipe/fields.h"

namespace obol::method {

// The section [optimizer].
struct OptimizerOptions {
  std::string kind = "adam";
  double learning_rate = 1e-4;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double momentum = 0;
  double weight_decay = 0;
  std::int64_t warmup = 0;
  std::string decay = "none";
  double final_rate = 0.05;

  void describe(recipe::Fields& fields);
};

// Step `step` of `steps`, from 1.
double learning_rate_at(const OptimizerOptions& options, std::int64_t step, std::int64_t steps);

}  // namespace obol::method
