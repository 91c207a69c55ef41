#include "cli/tensor/gpu.h"

namespace obol::cli {

std::vector<GpuFacts> list_gpus(std::string& problem) {
  problem = "this build of Obol has no CUDA";
  return {};
}

}  // namespace obol::cli
