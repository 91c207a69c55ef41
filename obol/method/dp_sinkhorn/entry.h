// DP-Sinkhorn in the table of methods. Without LibTorch.
#pragma once

#include "obol/method/entry.h"

namespace obol::method::dp_sinkhorn {

// What the recipe is going to release; nothing where its barrier is none.
std::optional<privacy::Plan> plan(const PricedSections& sections,
                                  const privacy::Accounting& how = {});

struct Entry : PrivateImages {
  static MethodInfo info();
  static run::Outcome fit(const Experiment& experiment, const Data& data,
                          const FitOptions& options);
};

}  // namespace obol::method::dp_sinkhorn
