// A recipe, read whole; without LibTorch, so that a mistake in it shows before that is loaded.
//
//   auto recipe = recipe::Recipe::load(path, {"privacy.epsilon=3"});
//   auto experiment = read_experiment<dp_sinkhorn::MethodOptions>(recipe);
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "obol/base/error.h"
#include "obol/data/reader.h"
#include "obol/method/optimizer_options.h"
#include "obol/model/options.h"
#include "obol/privacy/plan.h"
#include "obol/recipe/place.h"
#include "obol/recipe/recipe.h"
#include "obol/run/loop.h"

namespace obol::method {

// A recipe, read; [method] apart.
struct Experiment {
  data::RecipeData data;
  privacy::PrivacyOptions privacy;
  model::GeneratorOptions generator;
  OptimizerOptions optimizer;
  run::Steps steps;                  // total comes from [privacy]
  std::optional<std::int64_t> seed;  // of [method]: the run is then not private
  std::string resolved;              // the recipe with every value in force
  recipe::Places places;
};

template <class MethodOptions>
struct ExperimentOf : Experiment {
  MethodOptions method;
};

// Refuses what no section knows.
template <class MethodOptions>
ExperimentOf<MethodOptions> read_experiment(recipe::Recipe& recipe) {
  ExperimentOf<MethodOptions> experiment;
  static_cast<void>(recipe.read<recipe::Heading>(""));
  experiment.data = recipe.read<data::RecipeData>("data");
  static_cast<void>(experiment.data.options());  // checks sizes and ranges
  experiment.privacy = recipe.read<privacy::PrivacyOptions>("privacy");
  experiment.generator = recipe.read<model::GeneratorOptions>("generator");
  experiment.method = recipe.read<MethodOptions>("method");
  experiment.seed = experiment.method.seed;
  experiment.optimizer = recipe.read<OptimizerOptions>("optimizer");
  experiment.steps = recipe.read<run::Steps>("run");
  recipe.finish();
  experiment.resolved = recipe.resolved();
  experiment.places = [recipe](const std::string& key) { return recipe.where(key); };
  return experiment;
}

// InvalidArgument, at its place in the recipe, where a key of [privacy] is missing.
template <class T>
T needed(const std::optional<T>& value, const char* key) {
  if (!value) throw InvalidArgument(violation(std::string("privacy.") + key, "given", "missing"));
  return *value;
}

// Nothing where the barrier is none.
std::optional<privacy::Plan> price_of(const Experiment& experiment);

}  // namespace obol::method
