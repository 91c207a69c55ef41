#include "bench/eager_ldp.h"

#include <cmath>
#include <cstdint>

namespace obol::bench {

using torch::Tensor;

Tensor eager_loss(const Tensor& x, const Tensor& y, const method::ldp_wgan::Loss& loss) {
  const bool is_squared = loss.cost.kind == transport::CostKind::kSquared;
  const Tensor cost = is_squared ? torch::cdist(x, y).square() : torch::cdist(x, y, 1);
  Tensor plan;
  {
    const torch::NoGradGuard no_grad;
    const double lambda = loss.regularization;
    const double log_n = std::log(static_cast<double>(x.size(0)));
    const double log_m = std::log(static_cast<double>(y.size(0)));
    Tensor f = torch::zeros({x.size(0), 1}, x.options());
    Tensor g = torch::zeros({1, y.size(0)}, x.options());
    for (std::int64_t k = 0; k < loss.iterations; ++k) {
      f = -lambda * (torch::logsumexp((g - cost) / lambda, 1, true) - log_m);
      g = -lambda * (torch::logsumexp((f - cost) / lambda, 0, true) - log_n);
    }
    plan = ((f + g - cost) / lambda - log_n - log_m).exp();
  }
  return (plan * cost).sum();
}

}  // namespace obol::bench
