// The door out of Private<T>: what leaves is paid for first, and carries noise.
//
//   Door door(guard, bits);
//   RowBarrier barrier(door, {.clip_norm = 0.5, .noise_multiplier = 1.5});
//   torch::Tensor gradient = barrier.release(private_gradient, rows);
//
// Only a Mechanism (mechanism.h) goes through it. The noise is that of the event that was paid:
// there is no second number that could differ from the one in the ledger.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch/torch.h>

#include "obol/base/random.h"
#include "obol/data/private.h"
#include "obol/privacy/event.h"
#include "obol/privacy/guard.h"

namespace obol::barrier {

struct Bound;
enum class Times;
namespace gpu {
class Bits;
}

class Door {
 public:
  // Both must outlive this.
  Door(privacy::BudgetGuard& guard, RandomBits& bits);
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

 private:
  friend class Mechanism;
  friend class RecordedStep;

  void pay(std::string_view purpose, const privacy::Event& event, Times times);
  // `opened`, within the bound, with the noise that the event stands for.
  torch::Tensor noisy(const torch::Tensor& opened, const privacy::Event& event, const Bound& bound);

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
