// Critics that are warm-started side by side on a GPU, each against a generator of its own: one
// alone leaves most of it idle. All of their steps are recorded as one.
//
//   Workshop workshop(how, holders[0], {.desks = 8, .most_records = 60}, bits);
//   auto states = workshop.warm_start({&holders[3], &holders[5]}, stop);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "obol/barrier/recorded_step.h"
#include "obol/base/random.h"
#include "obol/data/private.h"
#include "obol/method/gs_wgan/desk.h"
#include "obol/method/gs_wgan/gpu.h"
#include "obol/method/gs_wgan/holder.h"
#include "obol/method/trainee.h"

namespace obol::method::gs_wgan {

class Workshop {
 public:
  struct Size {
    std::size_t desks;
    std::int64_t most_records;  // of a holder
  };
  // For holders like `like`, whose critic must outlive this, and so must `bits`.
  Workshop(const WarmStart& how, const Holder& like, const Size& size, RandomBits& bits);

  // A critic of each holder; there are no more of these than desks. Nothing where `stop`, which is
  // asked after every step, said so.
  std::optional<std::vector<Private<CriticState>>> warm_start(const std::vector<Holder*>& holders,
                                                              const std::function<bool()>& stop);

 private:
  struct Pair {
    Pair(const WarmStart& how, const Holder& like, std::int64_t most_records);
    Trainee trainee;  // as private as the critic: it never leaves
    Desk desk;
  };
  void advance(Pair& pair);

  WarmStart how_;
  std::int64_t classes_;
  torch::Device device_;
  RandomBits& bits_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  gpu::Branches branches_;
  barrier::RecordedStep step_;
};

}  // namespace obol::method::gs_wgan
