// The door out of Private<T>: what leaves is paid for first, and carries noise.
//
//   Door door(guard, bits);
//   RowBarrier barrier(door, {.clip_norm = 0.5, .noise_multiplier = 1.5});
//   torch::Tensor gradient = barrier.release(private_gradient, rows);
//
// Only barriers go through it. The noise is that of the event that was paid: there is no second
// number that could differ from the one in the ledger.
#pragma once

#include <string_view>

#include <torch/torch.h>

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

  // Pays and opens: `values`, of which neighbours differ by at most `sensitivity` in l2, with the
  // noise that one `event` (SampledGaussian or Gaussian) stands for. BudgetExceeded, and nothing is
  // opened, where the budget does not allow it.
  enum class Times { kMany, kOnce };
  torch::Tensor release(std::string_view purpose, const privacy::Event& event, double sensitivity,
                        const Private<torch::Tensor>& values, Times times = Times::kMany);
  void pay(std::string_view purpose, const privacy::Event& event, Times times);
  // What was paid for.
  torch::Tensor open(const privacy::Event& event, double sensitivity,
                     const Private<torch::Tensor>& values);

  privacy::BudgetGuard& guard_;
  RandomBits& bits_;
};

}  // namespace obol::barrier
