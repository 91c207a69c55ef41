// What every method does around its training: takes a run folder with its ledger, and trains until
// the steps or the budget end.
//
//   return fit(experiment, terms, data, options, [&](const Setting& setting) {
//     return std::make_unique<DpSinkhorn>(..., setting.door, setting.bits);
//   });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include <torch/torch.h>

#include "obol/barrier/door.h"
#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/method/experiment.h"
#include "obol/privacy/guard.h"
#include "obol/privacy/plan.h"
#include "obol/run/loop.h"

namespace obol::method {

struct FitOptions {
  Path folder;
  torch::Device device = torch::kCPU;
  bool resume = false;
  run::Diagnostics diagnostics = run::Diagnostics::kNone;
};

// What a method is made with. All of it outlives the method.
struct Setting {
  const run::RunFolder& folder;
  // All three null where nothing is private.
  privacy::Ledger* ledger;
  privacy::BudgetGuard* guard;
  barrier::Door* door;
  std::int64_t resumed_at;  // lines of the ledger when the run was begun or gone on with
  DisclosureLog& disclosures;
  RandomBits& bits;
  torch::Device device;
};

struct Terms {
  std::optional<privacy::Plan> plan;
  std::int64_t steps;
  std::int64_t reserve = 100;  // releases that are paid ahead at once
};

// The run folder appears before the method is made; where `resume` is set it must be there, of the
// same recipe and the same data.
run::Outcome fit(const Experiment& experiment, const Terms& terms,
                 const Private<data::Dataset>& data, const FitOptions& options,
                 const std::function<std::unique_ptr<run::Method>(const Setting&)>& make);

}  // namespace obol::method
