#pragma once

#include "cli/tensor_part.h"

namespace obol::cli {

EvaluateAnswer run_evaluate(const EvaluateRequest& request);

}  // namespace obol::cli
