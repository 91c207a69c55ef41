// What entries of the table of methods (list.h) share. Without LibTorch.
//
//   struct Entry : PrivateImages {
//     static MethodInfo info();
//     // In one call: from private data to a run folder with a generator and a certificate. Refuses
//     // what does not go together, before there is a run folder.
//     static run::Outcome fit(const Experiment& experiment, const Data& data,
//                             const FitOptions& options);
//   };
#pragma once

#include <optional>

#include "obol/data/dataset.h"
#include "obol/data/private.h"
#include "obol/method/methods.h"

namespace obol::method {

struct FitOptions;  // obol/method/fit.h

// The base of methods that learn from them.
struct PrivateImages {
  using Data = Private<data::Dataset>;
};

}  // namespace obol::method
