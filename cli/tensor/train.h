#pragma once

#include "cli/tensor_part.h"

namespace obol::cli {

run::Outcome run_train(const TrainRequest& request);
void run_sample(const SampleRequest& request);
void run_export(const ExportRequest& request);

}  // namespace obol::cli
