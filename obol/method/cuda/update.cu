#include <algorithm>

#include "obol/cuda/error.h"
#include "obol/method/cuda/update.h"

namespace obol::method::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 8;
constexpr int kMostTensors = 48;

// The parts of a launch; tensor k has the blocks from first_block[k] on.
struct Batch {
  Updated tensors[kMostTensors];
  std::int32_t first_block[kMostTensors];
  int count;
};

template <Rule::Kind kKind>
__global__ void __launch_bounds__(kThreads)
    update_kernel(const __grid_constant__ Batch batch, Rule rule, const Numbers* table,
                  const std::int64_t* step) {
  constexpr float kEpsilon = 1e-8F;
  const Numbers numbers = table[*step];
  const auto block = static_cast<int>(blockIdx.x);
  int k = 0;
  while (k + 1 < batch.count && batch.first_block[k + 1] <= block) ++k;
  const Updated tensor = batch.tensors[k];
  const std::int64_t first = std::int64_t{block - batch.first_block[k]} * kThreads * kPerThread;
#pragma unroll
  for (int j = 0; j < kPerThread; ++j) {
    const std::int64_t i = first + std::int64_t{j} * kThreads + threadIdx.x;
    if (i >= tensor.count) return;
    float value = tensor.values[i];
    const float gradient = fmaf(rule.weight_decay, value, tensor.gradient[i]);
    if constexpr (kKind == Rule::Kind::kAdam) {
      const float m = fmaf(rule.beta1, tensor.first[i], (1 - rule.beta1) * gradient);
      const float v = fmaf(rule.beta2, tensor.second[i], (1 - rule.beta2) * gradient * gradient);
      tensor.first[i] = m;
      tensor.second[i] = v;
      value -= numbers.rate * m / fmaf(sqrtf(v), numbers.second_scale, kEpsilon);
    } else {
      const float m = fmaf(rule.momentum, tensor.first[i], gradient);
      tensor.first[i] = m;
      value -= numbers.rate * m;
    }
    tensor.values[i] = value;
    if (tensor.average != nullptr) {
      const float average = tensor.average[i];
      tensor.average[i] = fmaf(numbers.share, value - average, average);
    }
  }
}

}  // namespace

void update(const Updated* tensors, int count, const Rule& rule, const Numbers* table,
            const std::int64_t* step, cudaStream_t stream) {
  for (int from = 0; from < count; from += kMostTensors) {
    Batch batch{};
    batch.count = std::min(kMostTensors, count - from);
    std::int64_t blocks = 0;
    for (int k = 0; k < batch.count; ++k) {
      constexpr std::int64_t kOfBlock = kThreads * kPerThread;
      batch.tensors[k] = tensors[from + k];
      batch.first_block[k] = static_cast<std::int32_t>(blocks);
      blocks += (tensors[from + k].count + kOfBlock - 1) / kOfBlock;
    }
    if (blocks == 0) continue;
    const auto kernel = rule.kind == Rule::Kind::kAdam ? update_kernel<Rule::Kind::kAdam>
                                                       : update_kernel<Rule::Kind::kDescent>;
    kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(batch, rule, table, step);
    obol::cuda::check(cudaGetLastError(), "an update");
  }
}

}  // namespace obol::method::cuda
