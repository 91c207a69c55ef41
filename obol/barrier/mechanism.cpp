#include "obol/barrier/mechanism.h"

#include <cmath>

#include "obol/base/error.h"

namespace obol::barrier {

void check(const BarrierOptions& options) {
  const auto need = [](double value, const char* name) {
    if (!std::isfinite(value) || value <= 0)
      throw InvalidArgument(violation(name, "finite and positive", value));
  };
  need(options.clip_norm, "clip_norm");
  need(options.noise_multiplier, "noise_multiplier");
}

torch::Tensor Mechanism::release(Door& door, const Release& what,
                                 const Private<torch::Tensor>& values) {
  door.pay(what.purpose, what.event, what.times);
  return open(door, what, values);
}

void Mechanism::pay(Door& door, const Release& what, PaidUses& uses, std::int64_t use) {
  for (; uses.paid_ < use; ++uses.paid_) door.pay(what.purpose, what.event, what.times);
}

torch::Tensor Mechanism::release(Door& door, const Release& what, PaidUses& uses, std::int64_t use,
                                 const Private<torch::Tensor>& values) {
  pay(door, what, uses, use);
  return open(door, what, values);
}

torch::Tensor Mechanism::open(Door& door, const Release& what,
                              const Private<torch::Tensor>& values) {
  return door.noisy(values.release(Key()), what.event, what.bound);
}

}  // namespace obol::barrier
