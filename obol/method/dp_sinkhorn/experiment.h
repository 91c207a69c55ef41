// A recipe of DP-Sinkhorn, read whole; without LibTorch, so that a mistake in it shows before that
// is loaded.
//
//   auto recipe = recipe::Recipe::load(path, {"privacy.epsilon=3"});
//   Experiment experiment = read_experiment(recipe);
#pragma once

#include <string>

#include "obol/data/reader.h"
#include "obol/method/dp_sinkhorn/options.h"
#include "obol/model/options.h"
#include "obol/privacy/plan.h"
#include "obol/recipe/place.h"
#include "obol/recipe/recipe.h"
#include "obol/run/loop.h"

namespace obol::method::dp_sinkhorn {

struct Experiment {
  data::RecipeData data;
  privacy::PrivacyOptions privacy;
  model::GeneratorOptions generator;
  MethodOptions method;
  OptimizerOptions optimizer;
  run::Steps steps;      // total comes from [privacy]
  std::string resolved;  // the recipe with every value in force
  recipe::Places places;
};

// Refuses what no section knows.
Experiment read_experiment(recipe::Recipe& recipe);

}  // namespace obol::method::dp_sinkhorn
