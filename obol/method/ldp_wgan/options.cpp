#include "obol/method/ldp_wgan/options.h"

namespace obol::method::ldp_wgan {

void MethodOptions::describe(recipe::Fields& fields) {
  constexpr double kMaxWidth = 512;
  fields.text("name", name, {kName}, "the method");
  fields.text("loss", loss, {"entropic", "wasserstein", "divergence", "critic"},
              "entropic learns the records without their noise; the others are for comparison");
  fields.number("regularization", regularization, recipe::positive(),
                "for experiments: another temperature than the one matched to the noise");
  fields.integer("batch", batch, recipe::at_least(2),
                 "records a step, and as many generated images");
  fields.number("epochs", epochs, recipe::positive(), "how often every record is looked at");
  fields.integer("iterations", iterations, recipe::at_least(1), "of Sinkhorn, a step, at most");
  fields.number("tolerance", tolerance, recipe::at_least(0),
                "on the marginals, at which Sinkhorn stops; 0: after all iterations");
  fields.flag("warm_start", warm_start,
              "Sinkhorn starts from what it found a record's potential "
              "to be an epoch ago");
  fields.number("average", average, recipe::between(0, 1),
                "decay of the moving average of the weights that is released; 0: the weights");
  fields.integer("critic_steps", critic_steps, recipe::at_least(1),
                 "critic: its steps for one of the generator");
  fields.integer("critic_width", critic_width, recipe::between(1, kMaxWidth),
                 "critic: channels of its first layer");
  fields.number("critic_learning_rate", critic_learning_rate, recipe::positive(), "critic: Adam's");
  fields.number("gradient_penalty", gradient_penalty, recipe::at_least(0), "critic: its weight");
  fields.integer("seed", seed, recipe::at_least(0), "for the same run again");
}

}  // namespace obol::method::ldp_wgan
