// What every method does around its training: reads a recipe, finds the price, takes a run folder
// with its ledger, and trains until the steps or the budget end.
//
//   auto experiment = read_experiment<MethodOptions>(recipe);
//   return fit(experiment, experiment.method.seed, data, options, [&](const Setting& setting) {
//     return std::make_unique<DpSinkhorn>(..., setting.guard, setting.bits);
//   });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <torch/torch.h>

#include "obol/barrier/door.h"
#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/data/reader.h"
#include "obol/method/optimizer_options.h"
#include "obol/model/options.h"
#include "obol/privacy/guard.h"
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
  run::Steps steps;      // total comes from [privacy]
  std::string resolved;  // the recipe with every value in force
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
  experiment.privacy = recipe.read<privacy::PrivacyOptions>("privacy");
  experiment.generator = recipe.read<model::GeneratorOptions>("generator");
  experiment.method = recipe.read<MethodOptions>("method");
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
  if (!value)
    throw InvalidArgument(violation(std::string("privacy.") + key, "given", "missing"));
  return *value;
}

struct FitOptions {
  Path folder;
  torch::Device device = torch::kCPU;
  bool resume = false;
  run::Diagnostics diagnostics = run::Diagnostics::kNone;
};

// Nothing where the barrier is none.
std::optional<privacy::Plan> price_of(const Experiment& experiment);

// What a method is made with. All of it outlives the method.
struct Setting {
  const run::RunFolder& folder;
  // All three null where nothing is private.
  privacy::Ledger* ledger;
  privacy::BudgetGuard* guard;
  barrier::Door* door;
  DisclosureLog& disclosures;
  RandomBits& bits;
  torch::Device device;
};

struct Terms {
  std::optional<privacy::Plan> plan;
  std::int64_t steps;
  std::optional<std::int64_t> seed;
  std::int64_t reserve = 100;  // releases that are paid ahead at once
};

// The run folder appears before the method is made; where `resume` is set it must be there, of the
// same recipe and the same data.
run::Outcome fit(const Experiment& experiment, const Terms& terms,
                 const Private<data::Dataset>& data, const FitOptions& options,
                 const std::function<std::unique_ptr<run::Method>(const Setting&)>& make);

}  // namespace obol::method
