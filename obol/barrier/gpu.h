// What the kernels of obol/barrier/cuda do for tensors on a GPU: noise, clipping, samples. All of
// it goes to the current stream and can be recorded. Without CUDA, in this build or in its
// LibTorch, no tensor is ever there; the functions then throw.
#pragma once

#include <cstdint>
#include <memory>

#include <torch/torch.h>

#include "obol/barrier/pull_arithmetic.h"
#include "obol/base/random.h"
#include "obol/privacy/noise.h"

namespace obol::barrier::gpu {

// Random words of the device, with a key of `bits`.
class Bits {
 public:
  Bits(RandomBits& bits, const torch::Device& device);
  ~Bits();
  Bits(const Bits&) = delete;
  Bits& operator=(const Bits&) = delete;

  struct State;
  [[nodiscard]] State& state() const { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// `values`, of floats or doubles, with that noise, rounded to float at the end.
torch::Tensor with_noise(Bits& bits, const torch::Tensor& values,
                         const privacy::GaussianNoise& noise);
// Rows [n, ...] of floats, scaled down to `bound` each: barrier::clip_rows.
torch::Tensor clipped_rows(const torch::Tensor& values, double bound);
// Both in one pass.
torch::Tensor clipped_with_noise(Bits& bits, const torch::Tensor& values, double bound,
                                 const privacy::GaussianNoise& noise);

// Products [classes, rows, samples] of doubles to weights, in place: pull_arithmetic.h. `squares`
// and `potentials` are [classes, rows], `sample_squares` [classes, samples].
void clipped_weights(torch::Tensor& products, const torch::Tensor& squares,
                     const torch::Tensor& potentials, const torch::Tensor& sample_squares,
                     const PullOptions& options);

// Poisson samples of many steps, of records that are stored class by class.
struct Tables {
  torch::Tensor indices;  // [steps, classes, capacity] of int32
  torch::Tensor counts;   // [steps, classes] of int32, also of those that did not fit
  torch::Tensor launch;   // [1]

  Tables(std::int64_t steps, std::int64_t classes, std::int64_t capacity,
         const torch::Device& device);
};

enum class Draw { kNew, kAgain };  // again: the same samples, in a table of another capacity

// class_ends [classes] of int64, on the device.
void draw(Bits& bits, const torch::Tensor& class_ends, std::int64_t records, double rate,
          const Tables& tables, Draw which);

// What a stored number becomes: number * scale + offset.
struct Range {
  double scale = 1;
  double offset = 0;
};

struct Gathered {
  torch::Tensor points;   // [classes * capacity, width], float; 0 where nobody is
  torch::Tensor present;  // [classes * capacity], float: 1 where somebody is, else 0
};

// The sample of step `slot` [1] of int64, of records [count, width] of bytes or floats.
Gathered gather(const torch::Tensor& records, const Tables& tables, const torch::Tensor& slot,
                const Range& range);

}  // namespace obol::barrier::gpu
