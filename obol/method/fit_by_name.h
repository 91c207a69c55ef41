// Trains by whichever method a recipe names.
//
//   run::Outcome outcome = fit_by_name(experiment, data, {.folder = "runs/a"});
#pragma once

#include <variant>

#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/local/privatized.h"
#include "obol/method/experiment.h"
#include "obol/method/fit.h"

namespace obol::method {

using TrainingData = std::variant<Private<data::Dataset>, local::Privatized>;

// InvalidArgument where the data are not of the kind that the method learns from.
run::Outcome fit_by_name(const Experiment& experiment, const TrainingData& data,
                         const FitOptions& options);

}  // namespace obol::method
