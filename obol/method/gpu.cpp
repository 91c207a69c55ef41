#include "obol/method/gpu.h"

#include <ATen/cuda/CUDAContext.h>

#include "obol/method/cuda/update.h"

namespace obol::method::gpu {

void update(const std::vector<Updated>& tensors, const OptimizerOptions& options,
            const torch::Tensor& table, const torch::Tensor& step) {
  std::vector<cuda::Updated> pointers;
  for (const Updated& tensor : tensors)
    pointers.push_back({tensor.values.data_ptr<float>(), tensor.gradient.data_ptr<float>(),
                        tensor.first.data_ptr<float>(), tensor.second.data_ptr<float>(),
                        tensor.average.defined() ? tensor.average.data_ptr<float>() : nullptr,
                        tensor.values.numel()});
  cuda::Rule rule{options.kind == "sgd" ? cuda::Rule::Kind::kDescent : cuda::Rule::Kind::kAdam};
  rule.beta1 = static_cast<float>(options.beta1);
  rule.beta2 = static_cast<float>(options.beta2);
  rule.momentum = static_cast<float>(options.momentum);
  rule.weight_decay = static_cast<float>(options.weight_decay);
  static_assert(sizeof(cuda::Numbers) == 3 * sizeof(float));
  cuda::update(pointers.data(), static_cast<int>(pointers.size()), rule,
               reinterpret_cast<const cuda::Numbers*>(table.data_ptr<float>()),
               step.data_ptr<std::int64_t>(),
               at::cuda::getCurrentCUDAStream(table.device().index()));
}

}  // namespace obol::method::gpu
