#include "obol/evaluate/logistic.h"

#include <algorithm>
#include <tuple>

namespace obol::evaluate {
namespace {

using torch::Tensor;

constexpr std::int64_t kPartOfImages = 2000;  // in double precision at a time
constexpr std::int64_t kHistory = 10;         // as SciPy's
constexpr std::int64_t kEvaluationsEach = 3;  // for each iteration, at most
constexpr double kNever = -1e6;               // intercept of a class that was not seen

struct Evaluated {
  double objective = 0;
  Tensor weights;  // the gradient's
  Tensor intercepts;
};

// |W|^2 / 2C and the sum of the losses, and the gradient of both.
class Objective {
 public:
  Objective(const Tensor& points, const Tensor& labels, std::int64_t classes, double penalty)
      : points_(points), labels_(labels), classes_(classes), penalty_(penalty) {}

  [[nodiscard]] Evaluated operator()(const Tensor& weights, const Tensor& intercepts) const {
    Tensor loss = 0.5 * penalty_ * weights.square().sum();
    Evaluated found{.weights = penalty_ * weights, .intercepts = torch::zeros_like(intercepts)};
    const auto parts = points_.split(kPartOfImages);
    const auto labels = labels_.split(kPartOfImages);
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const Tensor points = parts[k].to(torch::kDouble);
      const Tensor log_p = torch::addmm(intercepts, points, weights.t()).log_softmax(1);
      const Tensor rows = labels[k].view({-1, 1});
      loss -= log_p.gather(1, rows).sum();
      // p - 1 at the label, p elsewhere
      const Tensor errors =
          log_p.exp().scatter_add(1, rows, torch::full_like(rows, -1, log_p.options()));
      found.weights.addmm_(errors.t(), points);
      found.intercepts += errors.sum(0);
    }
    found.objective = loss.item<double>();
    if (classes_ == 2) {  // the other row's are enough
      found.weights[0].zero_();
      found.intercepts[0].zero_();
    }
    return found;
  }

 private:
  Tensor points_;
  Tensor labels_;
  std::int64_t classes_;
  double penalty_;  // 1 / C
};

// Among the classes that there are.
LogisticFit minimise(const Objective& objective, Tensor weights, Tensor intercepts,
                     const LogisticOptions& options, const std::function<void()>& report) {
  const double scale = options.inverse_penalty;  // of what the objective was divided by
  torch::optim::LBFGS solver({weights, intercepts},
                             torch::optim::LBFGSOptions(1)
                                 .max_iter(options.most_iterations)
                                 .max_eval(kEvaluationsEach * options.most_iterations)
                                 .tolerance_grad(options.tolerance / scale)
                                 .tolerance_change(0)  // the gradient decides
                                 .history_size(kHistory)
                                 .line_search_fn("strong_wolfe"));
  solver.step([&] {
    const torch::NoGradGuard no_grad;
    if (report) report();
    const Evaluated found = objective(weights, intercepts);
    weights.mutable_grad() = found.weights;
    intercepts.mutable_grad() = found.intercepts;
    return torch::tensor(found.objective, weights.options().requires_grad(false));
  });
  const Evaluated found = objective(weights, intercepts);
  const double largest = std::max(found.weights.abs().max().item<double>(),
                                  found.intercepts.abs().max().item<double>());
  return {weights, intercepts, found.objective * scale, largest * scale};
}

}  // namespace

LogisticFit fit_logistic(const Tensor& images, const Tensor& labels, std::int64_t num_classes,
                         const LogisticOptions& options, const std::function<void()>& report) {
  const torch::NoGradGuard no_grad;
  const Tensor points = images.flatten(1);
  const auto [present, among_present] = at::_unique(labels, true, true);
  const std::int64_t classes = present.size(0);
  const auto in_double = points.options().dtype(torch::kDouble);
  LogisticFit fit = minimise({points, among_present, classes, 1 / options.inverse_penalty},
                             torch::zeros({classes, points.size(1)}, in_double),
                             torch::zeros({classes}, in_double), options, report);
  const Tensor weights = torch::zeros({num_classes, points.size(1)}, in_double);
  const Tensor intercepts = torch::full({num_classes}, kNever, in_double);
  fit.weights = weights.index_copy(0, present, fit.weights);
  fit.intercepts = intercepts.index_copy(0, present, fit.intercepts);
  return fit;
}

}  // namespace obol::evaluate
