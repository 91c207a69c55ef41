// The commands that need tensors live in a shared object beside the program, so that LibTorch
// (some 0.4 s and 150 MB) is loaded by them alone.
#pragma once

#include "obol/app/evaluate.h"
#include "obol/app/federate.h"
#include "obol/app/machine.h"
#include "obol/app/release.h"
#include "obol/app/train.h"
#include "obol/app/transport.h"

namespace obol::cli {

using app::EvaluateAnswer;
using app::EvaluateRequest;
using app::ExportRequest;
using app::GpuFacts;
using app::IdentityFiles;
using app::JoinAnswer;
using app::JoinRequest;
using app::SampleRequest;
using app::ServeRequest;
using app::TensorFacts;
using app::TrainRequest;
using app::TransportAnswer;
using app::TransportRequest;

// What the shared object offers. Built together with the program, so the types agree; `version`
// is checked all the same.
struct TensorPart {
  const char* version;
  TensorFacts (*facts)();
  TransportAnswer (*transport)(const TransportRequest& request);
  run::Outcome (*train)(const TrainRequest& request);
  void (*sample)(const SampleRequest& request);
  void (*export_script)(const ExportRequest& request);
  EvaluateAnswer (*evaluate)(const EvaluateRequest& request);
  void (*release)(const app::ReleaseRequest& request);
  // Null where gRPC is missing.
  run::Outcome (*serve)(const ServeRequest& request);
  JoinAnswer (*join)(const JoinRequest& request);
};

// Why there is no `federate`, where there is none.
inline constexpr const char* kNoFederation = "this command needs gRPC, but this build has none";

// The symbol that the shared object exports: const TensorPart* obol_tensor_part().
inline constexpr const char* kTensorPartSymbol = "obol_tensor_part";

// Null where the program was built without LibTorch. Loads it on the first call.
const TensorPart* tensor_part();
// InvalidArgument instead of null.
const TensorPart& needed_tensor_part();

}  // namespace obol::cli
