// How far generated points are from privatised records, and where they should go.
//
//   Pull pull = pull_to({.x = generated, .y = records}, matched(Mechanism::kGaussian, 1.5));
//   generated.backward(pull.gradient);
//
// The loss `entropic` is matched to the noise (Reshetova, Chen and Ozgur): transport at the
// temperature lambda weighs a pair by exp(-cost/lambda), which is the density of the noise if
// lambda is 2 sigma^2 with the squared cost (Gaussian), or the scale with the absolute cost
// (Laplace). Then
//
//   W(P, Q) = lambda (least relative entropy of a coupling of P and Q to "point of P plus noise")
//             + what depends on Q alone,
//
// which for Q = X + N is least at P = X: the generator learns what the records were before the
// noise. The others are what it is compared with: their best generator makes noisy records.
#pragma once

#include <cstdint>
#include <string_view>

#include <torch/torch.h>

#include "obol/local/privatized.h"
#include "obol/transport/tensor/problem.h"

namespace obol::method::ldp_wgan {

enum class LossKind {
  kEntropic,
  kWasserstein,  // exact
  kDivergence,   // of Sinkhorn, at the same temperature
};
LossKind loss_from(std::string_view name);  // entropic, wasserstein, divergence

struct Loss {
  LossKind kind = LossKind::kEntropic;
  transport::Cost cost = {};
  double regularization = 0;
  std::int64_t iterations = 400;  // of Sinkhorn, at most
  double tolerance = 0;           // on the marginals; 0: all iterations
  double label_epsilon = 0;       // of randomised response; 0: labels have no part
};

// Cost and temperature as the mechanism wants them.
Loss matched(local::Mechanism mechanism, double scale);

struct Clouds {
  torch::Tensor x;              // [n, d], generated
  torch::Tensor y;              // [m, d], privatised
  torch::Tensor labels_x = {};  // [n], as asked of the generator
  torch::Tensor labels_y = {};  // [m], as privatised
  torch::Tensor start = {};     // [m], double: potentials of y to start from, where known
};

struct Pull {
  torch::Tensor gradient;    // of the loss with respect to x: [n, d]
  torch::Tensor potentials;  // [m] of y; undefined with the exact loss
  double value = 0;
  std::int64_t iterations = 0;
};

Pull pull_to(const Clouds& clouds, const Loss& loss);

}  // namespace obol::method::ldp_wgan
