// DP-Sinkhorn in one call: from private data to a run folder with a generator and a certificate.
//
//   Experiment experiment = read_experiment(recipe);
//   run::Outcome outcome = fit(experiment, data, {.folder = "runs/a"});
#pragma once

#include <optional>
#include <string>

#include <torch/torch.h>

#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/data/reader.h"
#include "obol/method/dp_sinkhorn/method.h"
#include "obol/privacy/plan.h"
#include "obol/recipe/place.h"
#include "obol/recipe/recipe.h"
#include "obol/run/loop.h"

namespace obol::method::dp_sinkhorn {

// A recipe, read.
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

// Refuses what no section knows, and what does not go together.
Experiment read_experiment(recipe::Recipe& recipe);

struct FitOptions {
  Path folder;
  torch::Device device = torch::kCPU;
  bool resume = false;
  run::Diagnostics diagnostics = run::Diagnostics::kNone;
};

// Trains until the steps or the budget end. The run folder appears with the first step; where
// `resume` is set it must be there, of the same recipe and the same data.
run::Outcome fit(const Experiment& experiment, const Private<data::Dataset>& data,
                 const FitOptions& options);

}  // namespace obol::method::dp_sinkhorn
