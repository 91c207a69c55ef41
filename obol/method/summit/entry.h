// The summit method in the table of methods. Without LibTorch.
#pragma once

#include "obol/method/entry.h"

namespace obol::method::summit {

// Purposes in the ledger, beside those of the class histogram and of transport ("training").
inline constexpr const char* kMoments = "moments";
inline constexpr const char* kTeacher = "teacher";

// One release of moments, the teacher's steps, and the steps of transport, as far as the recipe has
// shares for them.
std::optional<privacy::Plan> plan(const PricedSections& sections,
                                  const privacy::Accounting& how = {});

// The noise multiplier that the plan has for a purpose. Throws where it has no such release.
double noise_of(const privacy::Plan& plan, const char* purpose);

struct Entry : PrivateImages {
  static MethodInfo info();
  static run::Outcome fit(const Experiment& experiment, const Data& data,
                          const FitOptions& options);
};

}  // namespace obol::method::summit
