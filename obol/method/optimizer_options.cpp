#include "obol/method/optimizer_options.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace obol::method {

void OptimizerOptions::describe(recipe::Fields& fields) {
  fields.text("kind", kind, {"adam", "sgd"}, "the optimiser");
  fields.number("learning_rate", learning_rate, recipe::positive(), "its step size");
  fields.number("beta1", beta1, recipe::between(0, 1), "of Adam");
  fields.number("beta2", beta2, recipe::between(0, 1), "of Adam");
  fields.number("momentum", momentum, recipe::between(0, 1), "of SGD");
  fields.number("weight_decay", weight_decay, recipe::at_least(0), "of either");
  fields.integer("warmup", warmup, recipe::at_least(0),
                 "steps in which the learning rate rises to its value");
  fields.text("decay", decay, {"none", "cosine"}, "how it falls afterwards");
  fields.number("final_rate", final_rate, recipe::between(0, 1),
                "share of the learning rate that is left at the end of the decay");
}

double learning_rate_at(const OptimizerOptions& options, std::int64_t step, std::int64_t steps) {
  const auto t = static_cast<double>(step);
  double rate = options.learning_rate;
  if (options.warmup > 0) rate *= std::min(1.0, t / static_cast<double>(options.warmup));
  if (options.decay == "cosine") {
    const double done = (t - 1) / static_cast<double>(steps);
    const double wave = (1 + std::cos(std::numbers::pi * std::min(1.0, done))) / 2;
    rate *= options.final_rate + (1 - options.final_rate) * wave;
  }
  return rate;
}

}  // namespace obol::method
