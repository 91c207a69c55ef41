// Where critics work by turns: the records and the critic of one shard, in tensors that stay where
// they are, as a step that is recorded needs them (barrier/recorded_step.h).
//
//   Desk desk(holders[0], most_records);
//   desk.seat(holders[k], state);                               // copies, in front of the step
//   step.run([&] { ... desk.answer(question) ... });
//   desk.copy_to(state);                                        // and back
//
// Random numbers are those of torch's generator of the device.
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "obol/data/private.h"
#include "obol/method/gs_wgan/holder.h"

namespace obol::method::gs_wgan {

class Desk {
 public:
  // With room for `most` records like those of `like`, whose critic must outlive this.
  Desk(const Holder& like, std::int64_t most);

  void seat(const Holder& holder, const Private<CriticState>& state);
  // As Holder::answer does.
  Private<torch::Tensor> answer(const Question& question);
  void copy_to(const Private<CriticState>& state) const;

 private:
  struct Place {
    Records records;
    torch::Tensor count;  // [] of double: how many of them there are
    CriticState state;
  };
  static Place room_for(const Records& like, std::int64_t most, std::int64_t numbers);

  Teacher teacher_;
  Private<Place> place_;
};

}  // namespace obol::method::gs_wgan
