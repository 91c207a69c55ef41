// Learning from privatised records in the table of methods. Without LibTorch.
#pragma once

#include "obol/local/privatized.h"
#include "obol/method/entry.h"

namespace obol::method::ldp_wgan {

struct Entry {
  using Data = local::Privatized;

  static MethodInfo info();
  // In one call: from the file of privatised records to a run folder. Refuses what does not go
  // together, before there is a run folder. The ledger says what the records cost their owners; the
  // certificate is as theirs.
  static run::Outcome fit(const Experiment& experiment, const Data& data,
                          const FitOptions& options);
};

}  // namespace obol::method::ldp_wgan
