#include <algorithm>
#include <cstdlib>
#include <thread>

#include <torch/torch.h>

#include "cli/tensor_part.h"
#include "obol/base/version.h"

namespace obol::cli {
namespace {

// LibTorch asks cpuinfo, which counts one core on some virtual machines; the affinity mask knows.
void use_all_cores() {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
  at::set_num_threads(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

const TensorPart* start() {
  static const TensorPart kPart {
    .version = version(), .facts = app::tensor_facts, .transport = app::solve_transport,
    .train = app::train, .sample = app::sample, .export_script = app::export_script,
    .evaluate = app::evaluate, .release = app::release,
#if OBOL_HAS_FEDERATED
    .serve = app::serve_federation, .join = app::join_federation
#endif
  };
  use_all_cores();
  return &kPart;
}

}  // namespace
}  // namespace obol::cli

extern "C" __attribute__((visibility("default"))) const obol::cli::TensorPart* obol_tensor_part() {
  return obol::cli::start();
}
