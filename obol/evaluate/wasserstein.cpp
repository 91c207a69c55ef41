#include "obol/evaluate/wasserstein.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "obol/base/error.h"
#include "obol/transport/tensor/loss.h"
#include "obol/transport/tensor/problem.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

// Some images of one class as rows, in double: the assignment is decided by small differences.
Tensor points_of(const LabelledImages& data, std::int64_t label,
                 const WassersteinOptions& options) {
  const Tensor indices = data.labels.eq(label).nonzero().flatten();
  return some_of(rows_of(data, indices), options.per_class, options.seed)
      .images.flatten(1)
      .to(torch::kCPU, torch::kDouble);
}

double entropic_distance(const Tensor& x, const Tensor& y, double relative) {
  const double mean_cost = transport::cost_matrix(x, y, {}).mean().item<double>();
  if (mean_cost <= 0) return 0;
  // The divergence of the library is twice that of the paper.
  const Tensor divergence =
      transport::sinkhorn_divergence({x, y}, {.regularization = relative * mean_cost}) / 2;
  return std::sqrt(std::max(0.0, divergence.item<double>()));
}

void average(ClassDistances& distances) {
  double sum = 0;
  std::int64_t count = 0;
  for (const double one : distances.per_class) {
    if (std::isnan(one)) continue;
    sum += one;
    ++count;
  }
  if (count == 0)
    throw InvalidArgument(
        violation("the classes of synthetic and real images", "in part the same", "all different"));
  distances.value = sum / static_cast<double>(count);
}

}  // namespace

Wasserstein wasserstein(const LabelledImages& synthetic, const LabelledImages& real,
                        std::int64_t num_classes, const WassersteinOptions& options,
                        const std::function<void()>& report) {
  const torch::NoGradGuard no_grad;
  constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
  Wasserstein result;
  for (std::int64_t label = 0; label < num_classes; ++label) {
    const Tensor x = points_of(synthetic, label, options);
    const Tensor y = points_of(real, label, options);
    const bool both = x.size(0) > 0 && y.size(0) > 0;
    result.exact.per_class.push_back(both ? transport::wasserstein2(x, y) : kNone);
    result.entropic.per_class.push_back(both ? entropic_distance(x, y, options.regularization)
                                             : kNone);
    if (report) report();
  }
  average(result.exact);
  average(result.entropic);
  return result;
}

}  // namespace obol::evaluate
