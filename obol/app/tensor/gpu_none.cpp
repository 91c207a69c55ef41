#include "obol/app/tensor/gpu.h"

namespace obol::app {

std::vector<GpuFacts> list_gpus(std::string& problem) {
  problem = "this build has no CUDA part";
  return {};
}

}  // namespace obol::app
