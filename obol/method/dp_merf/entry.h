// DP-MERF in the table of methods. Without LibTorch.
#pragma once

#include <optional>

#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/method/methods.h"

namespace obol::method {

struct FitOptions;

namespace dp_merf {

inline constexpr const char* kEmbedding = "mean embedding";  // the purpose, in ledgers

// One release of all records, whatever the number of optimiser steps.
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

}  // namespace dp_merf
}  // namespace obol::method
