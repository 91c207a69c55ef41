// A step of DP-Sinkhorn in torch's own operators, differentiated by torch: the loops of the paper's
// code for the barriers `row` and `batch`, and the formulas of our `record`.
//
//   EagerDpSinkhorn eager(options, data, device);
//   eager.step();
//
// Its noise is torch's, it pays for nothing, and nothing keeps private tensors from being looked
// at: it is here to be timed, and compared with before the noise.
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "bench/eager_generator.h"
#include "obol/data/dataset.h"
#include "obol/method/dp_sinkhorn/method.h"

namespace obol::bench {

// Points with classes.
struct Labelled {
  torch::Tensor points;  // [n, d]
  torch::Tensor labels;  // [n]
};

// Of 2 W(x[0:n], y) - W(x[0:n], x[r:n+r]) with respect to x, r being `resampled`, of the cost
// mixture:1 and the annealed solver; one-hot labels are further coordinates.
struct EagerLoss {
  std::int64_t resampled = 20;
  std::int64_t classes = 10;
  double label_weight = 15;
  double regularization = 0.05;
};
torch::Tensor eager_gradient(const Labelled& x, const Labelled& y, const EagerLoss& loss);

// Potentials of x after so many iterations against y, within classes: [n].
torch::Tensor eager_potentials(const Labelled& x, const Labelled& y, double regularization,
                               std::int64_t iterations);

// barrier::pull of x by y.
torch::Tensor eager_pull(const Labelled& x, const torch::Tensor& potentials, const Labelled& y,
                         double regularization, double clip_norm);

class EagerDpSinkhorn {
 public:
  EagerDpSinkhorn(const method::dp_sinkhorn::Options& options, const data::Dataset& data,
                  const torch::Device& device);
  void step();

 private:
  void step_rows();
  void step_record();
  [[nodiscard]] Labelled draw() const;
  [[nodiscard]] torch::Tensor generate(const torch::Tensor& labels) const;

  method::dp_sinkhorn::Options options_;
  std::int64_t classes_;
  Labelled records_;  // as floats
  EagerGenerator generator_;
  torch::optim::Adam adam_;
  std::vector<torch::Tensor> average_;
  torch::Tensor last_second_;
};

}  // namespace obol::bench
