#include "obol/method/dp_sinkhorn/experiment.h"

namespace obol::method::dp_sinkhorn {

Experiment read_experiment(recipe::Recipe& recipe) {
  Experiment experiment;
  static_cast<void>(recipe.read<recipe::Heading>(""));
  experiment.data = recipe.read<data::RecipeData>("data");
  static_cast<void>(experiment.data.options());  // checks sizes and ranges
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

}  // namespace obol::method::dp_sinkhorn
