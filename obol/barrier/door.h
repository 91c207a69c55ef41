// The door out of Private<T>: what leaves is paid for first, and carries noise.
//
//   Door door(guard, bits);
//   RowBarrier barrier(door, {.clip_norm = 0.5, .noise_multiplier = 1.5});
//   torch::Tensor gradient = barrier.release(private_gradient, rows);
//
// Only barriers go through it. The noise is that of the event that was paid: there is no second
// number that could differ from the one in the ledger.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch/torch.h>

#include "obol/barrier/gpu.h"
#include "obol/base/random.h"
#include "obol/data/private.h"
#include "obol/privacy/event.h"
#include "obol/privacy/guard.h"

namespace obol::barrier {

// The right to open a private value.
class Key {
  friend class Door;
  Key() = default;
};

class Door {
 public:
  // Both must outlive this.
  Door(privacy::BudgetGuard& guard, RandomBits& bits) : guard_(guard), bits_(bits) {}

 private:
  friend class RowBarrier;
  friend class BatchBarrier;
  friend class RecordBarrier;
  friend class HistogramBarrier;
  friend class ShardBarrier;
  friend class RecordedStep;

  // How neighbours may differ.
  struct Bound {
    double sensitivity;  // in l2, of all values
    double clip = 0;     // which holds once every row is scaled down to this; 0: it does already
  };

  // Pays and opens: `values`, within the bound, with the noise that one `event` (SampledGaussian or
  // Gaussian) stands for. BudgetExceeded, and nothing is opened, where the budget does not allow
  // it.
  enum class Times { kMany, kOnce };
  torch::Tensor release(std::string_view purpose, const privacy::Event& event, const Bound& bound,
                        const Private<torch::Tensor>& values, Times times = Times::kMany);
  void pay(std::string_view purpose, const privacy::Event& event, Times times);
  // What was paid for.
  torch::Tensor open(const privacy::Event& event, const Bound& bound,
                     const Private<torch::Tensor>& values);

  // While a step is recorded nothing is paid: what would have been is kept, and paid before every
  // replay.
  struct Toll {
    std::string purpose;
    privacy::Event event;
  };
  void record(std::vector<Toll>* tolls) { recorded_ = tolls; }  // null: pay again
  void pay(const std::vector<Toll>& tolls);

  privacy::BudgetGuard& guard_;
  RandomBits& bits_;
  std::unique_ptr<gpu::Bits> device_bits_;  // once something on a GPU was opened
  std::vector<Toll>* recorded_ = nullptr;
};

}  // namespace obol::barrier
