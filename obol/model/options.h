// What a recipe says about a generator, without LibTorch.
#pragma once

#include <cstdint>
#include <string>

#include "obol/recipe/fields.h"

namespace obol::model {

// The section [generator].
struct GeneratorOptions {
  std::string architecture = "dcgan";
  std::int64_t width = 64;
  std::int64_t latent = 12;
  std::int64_t embedding = 4;
  std::string latent_law = "uniform";
  std::string activation = "leaky_relu";
  std::string output = "sigmoid";
  std::string precision = "auto";

  void describe(recipe::Fields& fields);
  // All but the precision: what a file must say of a network for others to compute with it.
  void describe_network(recipe::Fields& fields);
};

}  // namespace obol::model
