// What LibTorch finds on this machine, and how fast it is: for `obol doctor`.
//
// Implemented by the target app_tensor, which needs LibTorch.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace obol::app {

struct GpuFacts {
  std::string name;
  std::uint64_t memory_bytes = 0;
  int compute_major = 0;
  int compute_minor = 0;
  double gflops = 0;  // a large float32 product through LibTorch; 0 where it has no CUDA
};

struct TensorFacts {
  std::string libtorch_version;
  bool libtorch_has_cuda = false;
  int threads = 0;
  std::string blas;
  double gflops = 0;  // a 2048^3 float32 product
  std::vector<GpuFacts> gpus;
  std::string gpu_problem;  // why no GPU can be used, if one was looked for
};

TensorFacts tensor_facts();

}  // namespace obol::app
