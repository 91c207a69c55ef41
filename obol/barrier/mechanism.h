// What a mechanism of its own derives from: it says what one record can change, and the base pays,
// opens and adds the noise of what was paid.
//
//   class MedianBarrier : public Mechanism {
//    public:
//     torch::Tensor release(const Private<torch::Tensor>& scores) {
//       const privacy::Gaussian event{.noise_multiplier = 4, .count = 1};
//       return Mechanism::release(
//           door_, {.purpose = "median", .event = event, .bound = {.sensitivity = 1}}, scores);
//     }
//    ...
//
// The sensitivity and, of a sample, the rate are the word of whoever derives: where the values are
// a sum of what each record adds, SumBarrier (sum.h) proves the one and takes the other from the
// draw. examples/04_own_barrier is a whole program. (The class stands in obol/data/private.h.)
#pragma once

#include <string_view>

#include "obol/barrier/door.h"
#include "obol/data/private.h"
#include "obol/privacy/event.h"

namespace obol::barrier {

// How neighbours may differ.
struct Bound {
  double sensitivity;  // in l2, of all values
  double clip = 0;     // which holds once every row is scaled down to this; 0: it does already
};

// Once: nothing is reserved ahead, and no recorded step may have it.
enum class Times { kMany, kOnce };

struct Release {
  std::string_view purpose;
  privacy::Event event;  // one SampledGaussian or Gaussian
  Bound bound;
  Times times = Times::kMany;
};

// Of a mechanism that clips.
struct BarrierOptions {
  double clip_norm;
  double noise_multiplier;
};
// Throws InvalidArgument unless both are finite and positive.
void check(const BarrierOptions& options);

}  // namespace obol::barrier
