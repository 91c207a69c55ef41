// What a recipe says about learning from locally privatised data, besides the network
// ([generator]). How the records were privatised stands in their file, and nothing more is paid.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "obol/recipe/fields.h"

namespace obol::method::ldp_wgan {

inline constexpr const char* kName = "ldp-wgan";

// The section [method].
struct MethodOptions {
  std::string name = kName;
  std::string loss = "entropic";
  std::optional<double> regularization;  // none: matched to the noise
  std::int64_t batch = 400;              // of records, and as many generated images
  double epochs = 100;
  std::int64_t iterations = 400;
  double tolerance = 0;
  bool warm_start = false;
  double average = 0;

  // Loss critic.
  std::int64_t critic_steps = 5;
  std::int64_t critic_width = 64;
  double critic_learning_rate = 1e-4;
  double gradient_penalty = 10;

  std::optional<std::int64_t> seed;

  void describe(recipe::Fields& fields);
};

}  // namespace obol::method::ldp_wgan
