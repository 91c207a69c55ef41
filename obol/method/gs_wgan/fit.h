// GS-WGAN in one call: from private data to a run folder with a generator and a certificate.
//
//   Experiment experiment = read_experiment<MethodOptions>(recipe);
//   run::Outcome outcome = fit(experiment, data, {.folder = "runs/a"});
#pragma once

#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/method/fit.h"
#include "obol/method/gs_wgan/method.h"

namespace obol::method::gs_wgan {

using Experiment = ExperimentOf<MethodOptions>;

// Refuses what does not go together, before there is a run folder. Critics are kept in its
// private/.
run::Outcome fit(const Experiment& experiment, const Private<data::Dataset>& data,
                 const FitOptions& options);

}  // namespace obol::method::gs_wgan
