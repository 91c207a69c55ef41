#include <cuda_runtime.h>

#include "obol/app/tensor/gpu.h"

namespace obol::app {

std::vector<GpuFacts> list_gpus(std::string& problem) {
  int count = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&count); status != cudaSuccess) {
    // Without a driver the runtime speaks of an old one.
    problem = status == cudaErrorInsufficientDriver ? "no CUDA driver, or one older than this build"
                                                    : cudaGetErrorString(status);
    return {};
  }
  std::vector<GpuFacts> gpus;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    if (const cudaError_t status = cudaGetDeviceProperties(&properties, i); status != cudaSuccess) {
      problem = cudaGetErrorString(status);
      continue;
    }
    GpuFacts gpu;
    gpu.name = properties.name;
    gpu.memory_bytes = properties.totalGlobalMem;
    gpu.compute_major = properties.major;
    gpu.compute_minor = properties.minor;
    gpus.push_back(gpu);
  }
  return gpus;
}

}  // namespace obol::app
