// obol transport, the part that needs tensors: files in, a value and perhaps a plan out.
#pragma once

#include "cli/tensor_part.h"

namespace obol::cli {

TransportAnswer run_transport(const TransportRequest& request);

}  // namespace obol::cli
