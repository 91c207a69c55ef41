// What a recipe says about GS-WGAN, besides the price ([privacy]) and the generator ([generator],
// [optimizer]).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "obol/recipe/fields.h"

namespace obol::method::gs_wgan {

inline constexpr const char* kName = "gs-wgan";

// The section [method].
struct MethodOptions {
  std::string name = kName;
  double clip_norm = 1;
  double average = 0.999;  // decay of the released moving average of the weights; 0: none

  std::int64_t critic_width = 64;
  std::int64_t critic_steps = 5;
  double critic_learning_rate = 1e-4;
  double critic_beta1 = 0.5;
  double critic_beta2 = 0.9;
  double gradient_penalty = 10;
  double drift_penalty = 1e-3;

  std::int64_t warm_start = 2000;
  std::optional<std::string> warm_cache;

  std::optional<std::int64_t> seed;

  void describe(recipe::Fields& fields);
};

}  // namespace obol::method::gs_wgan
