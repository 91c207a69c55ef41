#include "obol/app/tensor/gpu.h"

namespace obol::app {

std::vector<GpuFacts> list_gpus(std::string& problem) {
  problem = "this build of Obol has no CUDA";
  return {};
}

}  // namespace obol::app
