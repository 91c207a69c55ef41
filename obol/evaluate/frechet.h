// The Frechet distance between two clouds of features, from their means and covariances:
//
//   |m1 - m2|^2 + tr(S1 + S2 - 2 (S1^1/2 S2 S1^1/2)^1/2),
//
// the squared 2-Wasserstein distance of the two Gaussians with these moments.
//
//   MomentSum sum;
//   for (...) sum.add(features);                              // [n, d], as many times as need be
//   double distance = frechet_distance(sum.moments(), other);
#pragma once

#include <cstdint>

#include <torch/torch.h>

#include "obol/base/file.h"

namespace obol::evaluate {

struct Moments {
  torch::Tensor mean;        // [d], double
  torch::Tensor covariance;  // [d, d], double, unbiased
  std::int64_t count = 0;
};

class MomentSum {
 public:
  // InvalidArgument where the features are not finite, or not as wide as those before.
  void add(const torch::Tensor& features);
  // Of two rows at least.
  [[nodiscard]] Moments moments() const;

 private:
  std::int64_t count_ = 0;
  torch::Tensor shift_;     // the mean of the first part: sums around it do not cancel
  torch::Tensor sum_;       // [d]
  torch::Tensor products_;  // [d, d]
};

Moments moments_of(const torch::Tensor& features);

// Covariances may be singular. Not negative; for equal moments zero but for rounding.
double frechet_distance(const Moments& first, const Moments& second);

// As others write them: an NPZ file with `mu` and `sigma`, here with `count` as well.
void write_moments(const Moments& moments, const Path& path);
Moments read_moments(const Path& path);

}  // namespace obol::evaluate
