// The generator's side of GS-WGAN: what it sends to a holder of data, and keeps to learn from the
// answer.
//
//   const Asked asked = ask(trainee, classes, critic_steps, n, bits);
//   asked.last.backward(answer_to(asked.question) / n);
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "obol/base/random.h"
#include "obol/method/gs_wgan/lesson.h"
#include "obol/method/trainee.h"

namespace obol::method::gs_wgan {

// n images for each of `steps`, labels drawn by `bits`, on a GPU by torch's generator there. The
// last batch, and it alone, keeps the graph that leads back to the generator: [n, channels, height,
// width].
struct Asked {
  Question question;
  torch::Tensor last;
};
Asked ask(Trainee& trainee, std::int64_t classes, std::int64_t steps, std::int64_t n,
          RandomBits& bits);

}  // namespace obol::method::gs_wgan
