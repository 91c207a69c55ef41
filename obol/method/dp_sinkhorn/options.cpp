#include "obol/method/dp_sinkhorn/options.h"

#include <algorithm>

namespace obol::method::dp_sinkhorn {

void RowStepOptions::describe_rows(recipe::Fields& fields) {
  fields.text("cost", cost, {}, "row and batch: l2sq, l1, mixture:M or lp:P");
  fields.number("label_weight", label_weight, recipe::at_least(0),
                "row and batch: of one-hot labels as further coordinates");
  fields.number("resample", resample, recipe::between(0, 1),
                "row and batch: share of the rows that the self term draws anew");
  fields.text("solver", solver, {"annealed", "converge"}, "row and batch: when Sinkhorn stops");
  fields.integer("max_iterations", max_iterations, recipe::at_least(1),
                 "row and batch: of the solver \"converge\"");
  fields.text("perturb", perturb, {"images", "parameters"},
              "batch: which gradient is clipped and has noise");
}

void RecordStepOptions::describe_records(recipe::Fields& fields) {
  fields.integer("second_batch", second_batch, recipe::at_least(1),
                 "record: generated rows of the self term");
  fields.number("self_weight", self_weight, recipe::between(0, 1),
                "record: of the self term, at the end");
  fields.number("self_weight_start", self_weight_start, recipe::between(0, 1),
                "record: of the self term, at the start");
  fields.number("self_weight_rise", self_weight_rise, recipe::between(0, 1),
                "record: share of the steps in which it goes from one to the other");
  fields.text(
      "features", features, {},
      "record: pixels, blur:S (Gaussian, S pixels wide) or dct:K (K x K lowest frequencies)");
  fields.integer("potential_iterations", potential_iterations, recipe::at_least(0),
                 "record: Sinkhorn iterations for the potentials; 0: none");
}

void MethodOptions::describe(recipe::Fields& fields) {
  fields.text("name", name, {kName}, "the method");
  fields.number("clip_norm", clip_norm, recipe::positive(),
                "l2 bound on what the barrier clips: a row, all rows, a record's pull");
  fields.number("regularization", regularization, recipe::positive(),
                "temperature of the transport, in units of the cost");
  fields.number("average", average, recipe::between(0, 1),
                "decay of the moving average of the weights that is released; 0: the weights");
  describe_rows(fields);
  describe_records(fields);
  fields.integer("seed", seed, recipe::at_least(0),
                 "for tests and experiments: the run is then not private");
}

double self_weight_at(const RecordStepOptions& options, std::int64_t step, std::int64_t steps) {
  const double rise = options.self_weight_rise * static_cast<double>(steps);
  const double done = rise > 0 ? std::min(1.0, static_cast<double>(step - 1) / rise) : 1;
  return options.self_weight_start + (options.self_weight - options.self_weight_start) * done;
}

}  // namespace obol::method::dp_sinkhorn
