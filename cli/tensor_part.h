// The commands that need tensors live in a shared object beside the program, so that LibTorch
// (some 0.4 s and 150 MB) is loaded by them alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace obol::cli {

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

// What the shared object offers. Built together with the program, so the types agree; `version`
// is checked all the same.
struct TensorPart {
  const char* version;
  TensorFacts (*facts)();
};

// The symbol that the shared object exports: const TensorPart* obol_tensor_part().
inline constexpr const char* kTensorPartSymbol = "obol_tensor_part";

// Null where the program was built without LibTorch. Loads it on the first call.
const TensorPart* tensor_part();

}  // namespace obol::cli
