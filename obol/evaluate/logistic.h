// Logistic regression as scikit-learn's LogisticRegression has it by default: minimises
//
//   |W|^2 / 2 + C sum_i -log p(y_i | x_i),   C = 1,
//
// over the weights W and the intercepts, which are not penalised, by L-BFGS from zero, for at most
// 100 iterations or until no component of the gradient exceeds 1e-4. Without the penalty, images
// that can be told apart have no optimum: the weights grow as long as the solver runs.
//
//   LogisticFit fit = fit_logistic(images, labels, 10);
//   torch::Tensor logits = torch::addmm(fit.intercepts, points, fit.weights.t());
//
// Two classes share one row of weights (the other is zero), more have one each: as there.
#pragma once

#include <cstdint>
#include <functional>

#include <torch/torch.h>

namespace obol::evaluate {

struct LogisticOptions {
  double inverse_penalty = 1;  // C
  std::int64_t most_iterations = 100;
  double tolerance = 1e-4;  // bound on the gradient's largest component, where the solver stops
};

struct LogisticFit {
  torch::Tensor weights;     // [classes, width], double
  torch::Tensor intercepts;  // [classes]; very low of classes without images
  double objective = 0;
  double largest_gradient = 0;  // component
};

// images [n, ...] of floats, labels [n] below num_classes, of two classes at least. Computes in
// double precision where the images are. `report` is called at every evaluation of the objective.
LogisticFit fit_logistic(const torch::Tensor& images, const torch::Tensor& labels,
                         std::int64_t num_classes, const LogisticOptions& options = {},
                         const std::function<void()>& report = {});

}  // namespace obol::evaluate
