// DP-MERF in the table of methods. Without LibTorch.
#pragma once

#include "obol/method/entry.h"

namespace obol::method::dp_merf {

inline constexpr const char* kEmbedding = "mean embedding";  // the purpose, in ledgers

// One release of all records, whatever the number of optimiser steps.
std::optional<privacy::Plan> plan(const PricedSections& sections,
                                  const privacy::Accounting& how = {});

struct Entry : PrivateImages {
  static MethodInfo info();
  static run::Outcome fit(const Experiment& experiment, const Data& data,
                          const FitOptions& options);
};

}  // namespace obol::method::dp_merf
