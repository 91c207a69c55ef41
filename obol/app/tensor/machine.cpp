#include "obol/app/machine.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <dlfcn.h>
#include <torch/torch.h>

#include "obol/app/tensor/gpu.h"

namespace obol::app {
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

// The file that answers LibTorch's calls of matrix products. Other BLAS libraries may be in the
// process as well, behind LAPACK say, so that a list of what is loaded would not tell.
std::string blas_in_use() {
  if (at::hasMKL()) return "MKL";
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&at::get_num_threads), &info) == 0) return "unknown";
  void* torch = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  const void* product = torch == nullptr ? nullptr : dlsym(torch, "sgemm_");
  if (product == nullptr || dladdr(product, &info) == 0) return "unknown";
  std::error_code ignored;
  const auto file = std::filesystem::canonical(info.dli_fname, ignored).string();
  return (file.find("openblas") != std::string::npos ? "OpenBLAS, " : "") + file;
}

}  // namespace

TensorFacts tensor_facts() {
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

}  // namespace obol::app
