#include "obol/method/gs_wgan/options.h"

namespace obol::method::gs_wgan {

void MethodOptions::describe(recipe::Fields& fields) {
  constexpr double kMaxWidth = 512;
  fields.text("name", name, {kName}, "the method");
  fields.number("clip_norm", clip_norm, recipe::positive(),
                "l2 bound on what the barrier clips: a row, or all rows");
  fields.number("average", average, recipe::between(0, 1),
                "decay of the moving average of the weights that is released; 0: the weights");
  fields.integer("critic_width", critic_width, recipe::between(1, kMaxWidth),
                 "channels of a critic's first layer; the last has four times as many");
  fields.integer("critic_steps", critic_steps, recipe::at_least(1),
                 "of a critic for one of the generator");
  fields.number("critic_learning_rate", critic_learning_rate, recipe::positive(),
                "step size of a critic's Adam");
  fields.number("critic_beta1", critic_beta1, recipe::between(0, 1), "of a critic's Adam");
  fields.number("critic_beta2", critic_beta2, recipe::between(0, 1), "of a critic's Adam");
  fields.number("gradient_penalty", gradient_penalty, recipe::at_least(0),
                "of a critic's gradient that is not of length 1");
  fields.number("drift_penalty", drift_penalty, recipe::at_least(0),
                "of a critic's scores that are not near 0");
  fields.integer("warm_start", warm_start, recipe::at_least(0),
                 "steps of each critic with a generator of its own, before the private ones");
  fields.text("warm_cache", warm_cache, {},
              "folder in which warm-started critics are kept for other runs; as private as the "
              "data");
  fields.integer("seed", seed, recipe::at_least(0),
                 "for tests and experiments: the run is then not private");
}

}  // namespace obol::method::gs_wgan
