// DP-Sinkhorn in the table of methods. Without LibTorch.
#pragma once

#include <optional>

#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/method/methods.h"

namespace obol::method {

struct FitOptions;

namespace dp_sinkhorn {

// What the recipe is going to release; nothing where its barrier is none.
std::optional<privacy::Plan> plan(const PricedSections& sections,
                                  const privacy::Accounting& how = {});

struct Entry {
  using Data = Private<data::Dataset>;

  static MethodInfo info();
  // In one call: from private data to a run folder with a generator and a certificate. Refuses what
  // does not go together, before there is a run folder.
  static run::Outcome fit(const Experiment& experiment, const Data& data,
                          const FitOptions& options);
};

}  // namespace dp_sinkhorn
}  // namespace obol::method
