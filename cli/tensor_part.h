// The commands that need tensors live in a shared object beside the program, so that LibTorch
// (some 0.4 s and 150 MB) is loaded by them alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "obol/app/evaluate.h"
#include "obol/base/error.h"

namespace obol::run {
struct Outcome;  // obol/run/loop.h
}

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

// obol transport. Paths may be empty where optional.
struct TransportRequest {
  std::string x;  // .npy files
  std::string y;
  std::string labels_x;
  std::string labels_y;
  std::string plan;  // to write
  std::string cost;
  std::string device;
  double regularization = 0;
  double label_weight = 0;
  double tolerance = 0;
  std::int64_t max_iterations = 0;
  bool debiased = false;
  bool exact = false;
  bool annealed = false;
};

struct TransportAnswer {
  std::int64_t n = 0;
  std::int64_t m = 0;
  std::int64_t coordinates = 0;
  std::string precision;  // float32 or float64
  std::string cost;
  double value = 0;
  double dual = 0;
  double marginal_error = 0;
  std::int64_t iterations = 0;
  bool converged = false;
  double seconds = 0;  // without files
};

// obol train.
struct TrainRequest {
  std::filesystem::path recipe;
  std::vector<std::string> overrides;
  std::filesystem::path out;
  std::string device = "cpu";
  std::int64_t threads = 0;  // 0: all
  bool resume = false;
  bool unsafe_diagnostics = false;
};

// obol sample.
struct SampleRequest {
  std::string run;
  std::int64_t count = 0;
  std::optional<std::int64_t> label;
  std::optional<std::int64_t> seed;
  std::string out;
  std::string device = "cpu";
  std::int64_t threads = 0;
};

// obol export.
struct ExportRequest {
  std::string run;
  std::string out;
};

// obol federate.
struct IdentityFiles {
  std::string ca;
  std::string certificate;
  std::string key;
};

struct ServeRequest {
  std::filesystem::path recipe;
  std::vector<std::string> overrides;
  std::string shape = "28x28";
  std::int64_t classes = 10;
  std::filesystem::path out;
  bool resume = false;
  std::string listen;
  IdentityFiles identity;
  double deadline = 60;
  std::string device = "cpu";
  std::int64_t threads = 0;
};

struct JoinRequest {
  std::string server;
  std::string data;
  std::string declared;  // by options, as the TOML of a declaration
  std::filesystem::path out;
  IdentityFiles identity;
  double epsilon = 0;
  double delta = 0;
  double least_noise = 0;
  std::optional<std::int64_t> answers;
  double patience = 60;
  std::string device = "cpu";
  std::int64_t threads = 0;
};

struct JoinAnswer {
  std::string ending;  // "what was planned is used up by", to be followed by the number of answers
  bool is_interrupted = false;
  std::int64_t answers = 0;
  double epsilon = 0;
};

// What the shared object offers. Built together with the program, so the types agree; `version`
// is checked all the same.
struct TensorPart {
  const char* version;
  TensorFacts (*facts)();
  TransportAnswer (*transport)(const TransportRequest& request);
  run::Outcome (*train)(const TrainRequest& request);
  void (*sample)(const SampleRequest& request);
  void (*export_script)(const ExportRequest& request);
  app::EvaluateAnswer (*evaluate)(const app::EvaluateRequest& request);
  // Null where gRPC is missing.
  run::Outcome (*serve)(const ServeRequest& request);
  JoinAnswer (*join)(const JoinRequest& request);
};

// The symbol that the shared object exports: const TensorPart* obol_tensor_part().
inline constexpr const char* kTensorPartSymbol = "obol_tensor_part";

// Null where the program was built without LibTorch. Loads it on the first call.
const TensorPart* tensor_part();
// InvalidArgument instead of null.
const TensorPart& needed_tensor_part();

}  // namespace obol::cli
