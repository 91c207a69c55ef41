// A recipe, read whole; without LibTorch, so that a mistake in it shows before that is loaded.
//
//   auto recipe = recipe::Recipe::load(path, {"privacy.epsilon=3"});
//   Experiment experiment = read_experiment(recipe);               // obol/method/methods.h
//   experiment.options<dp_sinkhorn::MethodOptions>().clip_norm
#pragma once

#include <any>
#include <cstdint>
#include <optional>
#include <string>

#include "obol/data/reader.h"
#include "obol/method/optimizer_options.h"
#include "obol/method/privacy_options.h"
#include "obol/model/options.h"
#include "obol/recipe/place.h"
#include "obol/recipe/recipe.h"
#include "obol/run/loop.h"

namespace obol::method {

struct MethodInfo;

// The section [method], as its method reads it.
struct MethodSection {
  std::any options;
  std::optional<std::int64_t> seed;  // the run is then not private
};

template <class Options>
MethodSection read_method(recipe::Recipe& recipe) {
  const auto options = recipe.read<Options>("method");
  return {.options = options, .seed = options.seed};
}

// The sections that a price follows from.
struct PricedSections {
  PrivacyOptions privacy;
  MethodSection method;

  template <class Options>
  [[nodiscard]] const Options& options() const {
    return std::any_cast<const Options&>(method.options);
  }
};

struct Experiment : PricedSections {
  const MethodInfo* info = nullptr;
  data::RecipeData data;
  model::GeneratorOptions generator;
  OptimizerOptions optimizer;
  run::Steps steps;      // the method says how many there are in all
  std::string resolved;  // the recipe with every value in force
  recipe::Places places;
};

}  // namespace obol::method
