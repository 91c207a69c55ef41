// What every method does around its training: takes a run folder with its ledger, and trains until
// the steps or the budget end.
//
//   return fit(experiment, plan, data, options,
//              {.steps = 2000, .make = [&](const MethodContext& context) {
//                 return std::make_unique<DpSinkhorn>(method_options, data, context);
//               }});
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <torch/torch.h>

#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/method/context.h"
#include "obol/method/experiment.h"
#include "obol/method/place.h"
#include "obol/privacy/plan.h"
#include "obol/run/loop.h"

namespace obol::method {

// The caller's.
struct FitOptions {
  Path folder;
  torch::Device device = torch::kCPU;
  bool resume = false;
  run::Diagnostics diagnostics = run::Diagnostics::kNone;
};

// The method's.
struct Training {
  std::int64_t steps;  // of the optimiser, however many of them release something
  std::function<std::unique_ptr<run::Method>(const MethodContext& context)> make;
  std::int64_t reserve = 100;  // releases that are paid ahead at once
};

// On private data; without a plan nothing is private. The run folder appears before the method is
// made; where `resume` is set it must be there, of the same recipe and the same data.
run::Outcome fit(const Experiment& experiment, const std::optional<privacy::Plan>& plan,
                 const Private<data::Dataset>& data, const FitOptions& options,
                 const Training& training);

// A run that releases nothing: its ledger, where it has one, says what was paid for the data before
// they came here.
struct OpenRun {
  Place place;
  std::optional<privacy::CertificateTerms> terms;  // where there is a ledger
};
run::Outcome fit(const Experiment& experiment, OpenRun& open, const FitOptions& options,
                 const Training& training);

}  // namespace obol::method
