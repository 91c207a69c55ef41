// What a recipe says about DP-MERF, besides the price ([privacy]) and the network ([generator]).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "obol/recipe/fields.h"

namespace obol::method::dp_merf {

inline constexpr const char* kName = "dp-merf";

// The section [method].
struct MethodOptions {
  std::string name = kName;
  std::int64_t frequencies = 2500;
  double frequency = 0.1;
  std::int64_t steps = 2000;
  std::int64_t batch = 500;
  double average = 0;  // decay of the released moving average of the weights; 0: none
  std::optional<std::int64_t> seed;

  void describe(recipe::Fields& fields);
};

}  // namespace obol::method::dp_merf
