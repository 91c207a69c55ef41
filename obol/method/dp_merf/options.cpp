#include "obol/method/dp_merf/options.h"

namespace obol::method::dp_merf {

void MethodOptions::describe(recipe::Fields& fields) {
  constexpr double kMostFrequencies = 1e6;
  fields.text("name", name, {kName}, "the method");
  fields.integer("frequencies", frequencies, recipe::between(1, kMostFrequencies),
                 "random frequencies of the features, each with a cosine and a sine");
  fields.number("frequency", frequency, recipe::positive(),
                "standard deviation of the frequencies: 1 / width of the kernel, in pixel values");
  fields.integer("steps", steps, recipe::at_least(1),
                 "optimiser steps; they release nothing and cost no privacy");
  fields.integer("batch", batch, recipe::at_least(2), "generated images of a step");
  fields.number("average", average, recipe::between(0, 1),
                "decay of the moving average of the weights that is released; 0: the weights");
  fields.integer("seed", seed, recipe::at_least(0),
                 "for tests and experiments: the run is then not private");
}

}  // namespace obol::method::dp_merf
