// What clipping does to private values, for the figures of a paper: numbers about private data,
// which are written inside private/ alone, and only with --unsafe-diagnostics.
#pragma once

#include <torch/torch.h>

#include "obol/data/private.h"
#include "obol/run/metrics.h"

namespace obol::method {

// The step that is under way, and where its numbers go.
struct Noting {
  std::int64_t step;
  run::UnsafeDiagnostics& diagnostics;
};

// Of the norms [k] of what is then clipped to `bound`: norm_before_clip and norm_after_clip, which
// are means, and share_clipped. Computes nothing where diagnostics are not asked for.
void note_clipping(const Noting& noting, const Private<torch::Tensor>& norms, double bound);

}  // namespace obol::method
