// Private records as tensors, and samples of them.
//
//   PrivateRecords records(dataset, {.device = torch::kCPU});
//   Drawn<Sample> drawn = records.draw(0.1, bits);   // Poisson; knows the rate it was drawn with
#pragma once

#include <cstdint>
#include <functional>
#include <type_traits>
#include <vector>

#include <torch/torch.h>

#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"

namespace obol::barrier {

// Records class by class. Unlabelled ones are of one class.
struct Sample {
  torch::Tensor points;                    // [m, d], float
  std::vector<std::int64_t> class_counts;  // [classes], sums to m

  [[nodiscard]] torch::Tensor labels() const;  // [m], ascending
};

// A sample, or what was computed of it, and the rate it was drawn with, which goes into its event.
template <class T>
struct Drawn {
  Private<T> value;
  double rate;

  template <class Function>
  [[nodiscard]] auto map(const Function& function) const {
    return Drawn<std::invoke_result_t<Function, const T&>>{value.map(function), rate};
  }
};

// What the values of pixels mean, and a public map that is applied to each image.
struct RecordOptions {
  torch::Device device = torch::kCPU;
  double lowest = 0;                                                        // of black; white is 1
  std::function<torch::Tensor(const torch::Tensor& images)> features = {};  // [m, d] to [m, k]
};

class PrivateRecords {
 public:
  PrivateRecords(const Private<data::Dataset>& data, const RecordOptions& options);

  // Each record takes part with probability `rate`, on its own.
  [[nodiscard]] Drawn<Sample> draw(double rate, RandomBits& bits) const;

  // Of each class; private.
  [[nodiscard]] Private<torch::Tensor> class_counts() const;  // [classes]
  [[nodiscard]] std::int64_t classes() const noexcept { return classes_; }

 private:
  // Sorted by class, so that a sample in order is one too. Bytes, unless there are features.
  struct Stored {
    torch::Tensor points;
    std::vector<std::int64_t> class_ends;
  };
  static Stored store(const data::Dataset& data, const RecordOptions& options);

  std::int64_t classes_;
  double lowest_;
  Private<Stored> stored_;
};

}  // namespace obol::barrier
