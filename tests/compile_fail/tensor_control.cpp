// compiles
// A draw, and a mechanism of one's own: the other snippets that include tensors differ from it.
#include "obol/barrier/mechanism.h"
#include "obol/barrier/records.h"

namespace barrier = obol::barrier;

class Own : public barrier::Mechanism {
 public:
  explicit Own(barrier::Door& door) : door_(door) {}
  torch::Tensor release(const barrier::Drawn<torch::Tensor>& values) {
    return Mechanism::release(door_,
                              {.purpose = "own",
                               .event = obol::privacy::SampledGaussian{values.rate, 1, 1},
                               .bound = {.sensitivity = 1}},
                              values.value);
  }

 private:
  barrier::Door& door_;
};

torch::Tensor released(const barrier::PrivateRecords& records, obol::RandomBits& bits, Own& own) {
  return own.release(
      records.draw(0.1, bits).map([](const barrier::Sample& s) { return s.points; }));
}
