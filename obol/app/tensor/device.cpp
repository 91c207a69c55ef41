#include "obol/app/tensor/device.h"

#include <fmt/format.h>

#include "obol/app/request.h"
#include "obol/base/error.h"
#include "obol/base/memory.h"

namespace obol::app {

torch::Device use_device(const std::string& name, std::int64_t threads) {
  constexpr std::int64_t kMost = 1024;
  if (threads < 0 || threads > kMost)
    throw BadRequest("threads", fmt::format("from 1 to {}", kMost), threads);
  keep_freed_memory();
  if (threads > 0) at::set_num_threads(static_cast<int>(threads));
  if (name != "cuda") return torch::kCPU;
  if (!torch::cuda::is_available())
    throw InvalidArgument("--device cuda must have a GPU that LibTorch can use, but there is none");
  return torch::kCUDA;
}

}  // namespace obol::app
