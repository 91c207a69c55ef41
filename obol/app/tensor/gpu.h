// The GPUs that the CUDA driver shows, whether or not LibTorch can use them.
#pragma once

#include <string>
#include <vector>

#include "obol/app/machine.h"

namespace obol::app {

// Empty where there are none; `problem` then says why.
std::vector<GpuFacts> list_gpus(std::string& problem);

}  // namespace obol::app
