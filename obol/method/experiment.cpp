#include "obol/method/experiment.h"

namespace obol::method {

std::optional<privacy::Plan> price_of(const Experiment& experiment) {
  if (experiment.privacy.barrier == "none") return std::nullopt;
  return recipe::located(experiment.places, "privacy",
                         [&] { return privacy::plan_of(experiment.privacy); });
}

}  // namespace obol::method
