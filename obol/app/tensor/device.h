// Where tensors are computed.
#pragma once

#include <cstdint>
#include <string>

#include <torch/torch.h>

namespace obol::app {

// "cpu" or "cuda"; InvalidArgument where there is no such device. `threads` 0: as they are.
torch::Device use_device(const std::string& name, std::int64_t threads);

}  // namespace obol::app
