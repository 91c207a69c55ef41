// DP-Sinkhorn in one call: from private data to a run folder with a generator and a certificate.
//
//   Experiment experiment = read_experiment(recipe);
//   run::Outcome outcome = fit(experiment, data, {.folder = "runs/a"});
#pragma once

#include <torch/torch.h>

#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/method/dp_sinkhorn/experiment.h"
#include "obol/method/dp_sinkhorn/method.h"
#include "obol/run/loop.h"

namespace obol::method::dp_sinkhorn {

struct FitOptions {
  Path folder;
  torch::Device device = torch::kCPU;
  bool resume = false;
  run::Diagnostics diagnostics = run::Diagnostics::kNone;
};

// Trains until the steps or the budget end. The run folder appears with the first step; where
// `resume` is set it must be there, of the same recipe and the same data.
run::Outcome fit(const Experiment& experiment, const Private<data::Dataset>& data,
                 const FitOptions& options);

}  // namespace obol::method::dp_sinkhorn
