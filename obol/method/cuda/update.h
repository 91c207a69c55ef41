// One step of Adam or of gradient descent with momentum for many tensors, and of the moving average
// of their values, in one launch.
//
//   update(tensors, count, {.kind = Kind::kAdam, .beta1 = 0.9, .beta2 = 0.999}, table, step,
//   stream);
//
// Asynchronous on `stream`; can be captured in a graph: what changes from step to step lies on the
// device.
#pragma once

#include <cstdint>

#include <cuda_runtime_api.h>

namespace obol::method::cuda {

// All on the device, of `count` floats each, in the same order.
struct Updated {
  float* values;
  const float* gradient;
  float* first;    // moment; of gradient descent, the momentum
  float* second;   // moment, of Adam
  float* average;  // or null
  std::int64_t count;
};

struct Rule {
  enum class Kind { kAdam, kDescent } kind;
  float beta1 = 0;
  float beta2 = 0;
  float momentum = 0;
  float weight_decay = 0;
};

// What the update of a step takes.
struct Numbers {
  float rate;          // over 1 - beta1^t, with Adam
  float second_scale;  // 1 / sqrt(1 - beta2^t)
  float share;         // of the new values in the average
};

// With table[*step].
void update(const Updated* tensors, int count, const Rule& rule, const Numbers* table,
            const std::int64_t* step, cudaStream_t stream);

}  // namespace obol::method::cuda
