// Learning from privatised records in one call: from their file to a run folder.
//
//   Experiment experiment = read_experiment<MethodOptions>(recipe);
//   run::Outcome outcome = fit(experiment, local::read_privatized("private.npz"), {.folder = "a"});
#pragma once

#include "obol/local/privatized.h"
#include "obol/method/fit.h"
#include "obol/method/ldp_wgan/method.h"

namespace obol::method::ldp_wgan {

using Experiment = ExperimentOf<MethodOptions>;

// Refuses what does not go together, before there is a run folder. The ledger says what the records
// cost their owners; the certificate is as theirs.
run::Outcome fit(const Experiment& experiment, const local::Privatized& data,
                 const FitOptions& options);

}  // namespace obol::method::ldp_wgan
