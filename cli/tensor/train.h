#pragma once

#include "cli/tensor_part.h"

namespace obol::cli {

ExitCode run_train(const TrainRequest& request);
void run_sample(const SampleRequest& request);

}  // namespace obol::cli
