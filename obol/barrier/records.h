// Private records as tensors, and samples of them.
//
//   PrivateRecords records(dataset, {.device = torch::kCPU});
//   Drawn<Sample> drawn = records.draw(0.1, bits);   // Poisson; knows the rate it was drawn with
//
// On a GPU the samples of many steps are drawn ahead, and the draw itself can be part of a recorded
// step (recorded_step.h), once for each call of prepare:
//
//   if (records.prepare(0.1, bits) == Prepared::kMoved) step.forget();
//   step.run([&] { ... records.draw(0.1, bits) ... });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <torch/types.h>

#include "obol/base/random.h"
#include "obol/data/dataset.h"
#include "obol/data/private.h"

namespace obol::barrier {

// Those of unlabelled records are one.
std::int64_t classes_of(const data::Dataset::PublicFacts& facts);

// Bytes, or numbers in [0, 1], to floats in [lowest, 1].
torch::Tensor in_range(const torch::Tensor& pixels, double lowest);

// Records class by class. Unlabelled ones are of one class.
struct Sample {
  torch::Tensor points;                    // [m, d], float
  std::vector<std::int64_t> class_counts;  // [classes], sums to m

  // Of one on a GPU, where m is a capacity that does not depend on the draw (as many for each
  // class, where `by_class` was set), and class_counts is empty: 1 where somebody is, else 0.
  torch::Tensor present = {};     // [m], float
  torch::Tensor each_label = {};  // [m], where not by class

  [[nodiscard]] torch::Tensor labels() const;  // [m]; ascending, where nobody says otherwise
};

class PrivateRecords;

// A sample, or what was computed of it, and the rate it was drawn with, which goes into its event.
// Only PrivateRecords makes one: a rate that was not drawn with cannot be claimed.
template <class T>
class Drawn {
 public:
  const Private<T> value;
  const double rate;

  template <class Function>
  [[nodiscard]] auto map(const Function& function) const {
    return Drawn<std::invoke_result_t<Function, const T&>>(value.map(function), rate);
  }

 private:
  template <class Other>
  friend class Drawn;
  friend class PrivateRecords;
  Drawn(Private<T> drawn, double drawn_with) : value(std::move(drawn)), rate(drawn_with) {}
};

// What the values of pixels mean, and a public map that is applied to each image.
struct RecordOptions {
  torch::Device device = torch::kCPU;
  double lowest = 0;                                                        // of black; white is 1
  std::function<torch::Tensor(const torch::Tensor& images)> features = {};  // [m, d] to [m, k]
  bool by_class = true;  // on a GPU, samples have room for as many of each class
};

enum class Prepared { kAsBefore, kMoved };  // moved: to other, larger tensors

class PrivateRecords {
 public:
  PrivateRecords(const Private<data::Dataset>& data, const RecordOptions& options);
  ~PrivateRecords();

  // Before every draw, of the same rate and from the same bits. Nothing to do on a processor.
  Prepared prepare(double rate, RandomBits& bits);
  // Each record takes part with probability `rate`, on its own.
  [[nodiscard]] Drawn<Sample> draw(double rate, RandomBits& bits) const;

  // All records, `at_once` at a time and at the end fewer: what `add(T& so_far, const Sample&
  // some)` makes of `start`.
  template <class T, class Function>
  [[nodiscard]] Private<T> fold(T start, std::int64_t at_once, const Function& add) const {
    return stored_.map([&](const Stored& stored) {
      T so_far = std::move(start);
      for_each_part(stored, at_once, [&](const Sample& some) { add(so_far, some); });
      return so_far;
    });
  }

  // Of each class; private.
  [[nodiscard]] Private<torch::Tensor> class_counts() const;  // [classes]
  [[nodiscard]] std::int64_t classes() const noexcept { return classes_; }

 private:
  // Sorted by class, so that a sample in order is one too. Bytes, unless there are features. Those
  // of a mapped file stay there, on a processor, in whatever order they are.
  struct Stored {
    torch::Tensor points;
    torch::Tensor order;  // where the records of the sorted ones lie; undefined: as they are
    std::vector<std::int64_t> class_ends;
  };
  static Stored store(const data::Dataset& data, const RecordOptions& options);
  [[nodiscard]] Sample take(const Stored& stored, double rate, RandomBits& bits) const;
  void for_each_part(const Stored& stored, std::int64_t at_once,
                     const std::function<void(const Sample&)>& use) const;
  // Of stored records, as a sample has them.
  [[nodiscard]] torch::Tensor points_of(const torch::Tensor& rows) const;

  // Samples of the steps to come, on a GPU.
  struct Ahead;
  [[nodiscard]] std::unique_ptr<Ahead> make_ahead(const Stored& stored, double rate,
                                                  RandomBits& bits) const;
  [[nodiscard]] Sample take_ahead(const Stored& stored) const;

  std::int64_t classes_;
  torch::Device device_;
  bool by_class_;
  double lowest_;
  Private<Stored> stored_;
  std::unique_ptr<Ahead> ahead_;  // as private as what is stored
};

}  // namespace obol::barrier
