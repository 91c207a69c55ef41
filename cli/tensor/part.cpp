#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <torch/torch.h>

#include "cli/tensor/gpu.h"
#include "cli/tensor_part.h"
#include "obol/base/version.h"

namespace obol::cli {
namespace {

// Products of square float32 matrices on `device` until `seconds` have gone by; the best rate.
double measure_gflops(const torch::Device& device, std::int64_t side, double seconds) {
  using Clock = std::chrono::steady_clock;
  const torch::NoGradGuard no_grad;
  const auto options = torch::TensorOptions().device(device);
  const torch::Tensor a = torch::rand({side, side}, options);
  const torch::Tensor b = torch::rand({side, side}, options);
  torch::Tensor c = torch::mm(a, b);
  const auto wait = [&] { return c[0][0].item<float>(); };  // waits for a GPU as well
  wait();
  double best = 0;
  const auto start = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - start).count() < seconds) {
    const auto begin = Clock::now();
    torch::mm_out(c, a, b);
    wait();
    const double elapsed = std::chrono::duration<double>(Clock::now() - begin).count();
    const auto n = static_cast<double>(side);
    best = std::max(best, 2 * n * n * n / elapsed / 1e9);
  }
  return best;
}

// The library that answers BLAS calls, by what is mapped into the process.
std::string blas_in_use() {
  if (at::hasMKL()) return "MKL";
  std::ifstream maps("/proc/self/maps");
  std::string found = "unknown";
  for (std::string line; std::getline(maps, line);) {
    const auto slash = line.rfind('/');
    if (slash == std::string::npos) continue;
    const std::string name = line.substr(slash + 1);
    if (name.find("openblas") != std::string::npos || line.find("/openblas") != std::string::npos)
      return "OpenBLAS (" + name + ")";
    if (name.starts_with("libblas.so") || name.starts_with("libblis"))
      found = line.substr(line.find('/'));
  }
  return found;
}

// LibTorch asks cpuinfo, which counts one core on some virtual machines; the affinity mask knows.
void use_all_cores() {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
  at::set_num_threads(static_cast<int>(std::max(1U, std::thread::hardware_concurrency())));
}

TensorFacts facts() {
  constexpr std::int64_t kCpuSide = 2048;
  constexpr std::int64_t kGpuSide = 8192;
  constexpr double kSeconds = 0.5;
  TensorFacts facts;
  facts.libtorch_version = TORCH_VERSION;
  facts.libtorch_has_cuda = torch::cuda::is_available();
  facts.threads = at::get_num_threads();
  facts.gflops = measure_gflops(torch::kCPU, kCpuSide, kSeconds);
  facts.blas = blas_in_use();
  facts.gpus = list_gpus(facts.gpu_problem);
  for (std::size_t i = 0; facts.libtorch_has_cuda && i < facts.gpus.size(); ++i)
    facts.gpus[i].gflops = measure_gflops(
        torch::Device(torch::kCUDA, static_cast<c10::DeviceIndex>(i)), kGpuSide, kSeconds);
  return facts;
}

const TensorPart* start() {
  static const TensorPart kPart{.version = version(), .facts = facts};
  use_all_cores();
  return &kPart;
}

}  // namespace
}  // namespace obol::cli

extern "C" __attribute__((visibility("default"))) const obol::cli::TensorPart* obol_tensor_part() {
  return obol::cli::start();
}
