#include "obol/method/ldp_wgan/loss.h"

#include <cmath>
#include <string>
#include <vector>

#include "obol/base/error.h"
#include "obol/transport/tensor/block.h"
#include "obol/transport/tensor/loss.h"

namespace obol::method::ldp_wgan {
namespace {

using torch::Tensor;

transport::SinkhornOptions solver_of(const Loss& loss) {
  return {.regularization = loss.regularization,
          .tolerance = loss.tolerance,
          .max_iterations = loss.iterations};
}

// A label that was changed is as unlikely as exp(-epsilon) over one that was not.
transport::Problem problem_of(const Clouds& clouds, const Loss& loss) {
  transport::Problem problem{.x = clouds.x, .y = clouds.y, .cost = loss.cost};
  if (loss.label_epsilon == 0) return problem;
  problem.labels_x = clouds.labels_x;
  problem.labels_y = clouds.labels_y;
  const double wanted = loss.regularization * loss.label_epsilon;
  const double of_one = transport::label_penalty(loss.cost, 1);
  problem.label_weight = loss.cost.kind == transport::CostKind::kSquared
                             ? std::sqrt(wanted / of_one)
                             : wanted / of_one;
  return problem;
}

Pull entropic(const Clouds& clouds, const Loss& loss) {
  const std::vector<transport::Block> blocks = transport::blocks_of(problem_of(clouds, loss));
  std::vector<transport::Solution> starts;
  if (clouds.start.defined())
    starts.push_back({.f = torch::zeros({clouds.x.size(0)}, clouds.start.options()),
                      .g = clouds.start,
                      .regularization = loss.regularization});
  const transport::Solution solution =
      transport::solve(blocks, solver_of(loss), transport::Side::kOther, starts)[0];
  const Tensor plan = transport::plan_rows(blocks[0], solution, 0, clouds.x.size(0));
  return {.gradient = transport::cost_gradient(clouds.x, clouds.y, plan, loss.cost),
          .potentials = solution.g,
          .value = solution.dual,
          .iterations = solution.iterations};
}

Pull wasserstein(const Clouds& clouds, const Loss& loss) {
  const torch::Device device = clouds.x.device();
  const Clouds here{.x = clouds.x.cpu(), .y = clouds.y.cpu()};
  const transport::ExactResult found =
      transport::exact_transport({.x = here.x, .y = here.y, .cost = loss.cost});
  Tensor plan = torch::zeros({here.x.size(0), here.y.size(0)}, torch::kDouble);
  auto masses = plan.accessor<double, 2>();
  for (const transport::PlanEntry& entry : found.plan)
    masses[static_cast<std::int64_t>(entry.row)][static_cast<std::int64_t>(entry.column)] =
        entry.mass;
  plan = plan.to(here.x.dtype());
  return {.gradient = transport::cost_gradient(here.x, here.y, plan, loss.cost).to(device),
          .potentials = {},
          .value = found.value,
          .iterations = found.iterations};
}

// W(x, y) - W(x, x)/2: what is left has no gradient here.
Pull divergence(const Clouds& clouds, const Loss& loss) {
  Pull pull = entropic(clouds, loss);
  const torch::AutoGradMode with_gradients(true);
  const Tensor x = clouds.x.detach().clone().requires_grad_();
  transport::Problem problem = problem_of(clouds, loss);
  problem.x = x;
  const Tensor self = transport::entropic_self_cost(problem, solver_of(loss)) / 2;
  pull.gradient = pull.gradient - torch::autograd::grad({self}, {x})[0];
  pull.value -= self.item<double>();
  return pull;
}

}  // namespace

LossKind loss_from(std::string_view name) {
  if (name == "entropic") return LossKind::kEntropic;
  if (name == "wasserstein") return LossKind::kWasserstein;
  if (name == "divergence") return LossKind::kDivergence;
  throw InvalidArgument(
      violation("the loss", "entropic, wasserstein or divergence", std::string(name)));
}

Loss matched(local::Mechanism mechanism, double scale) {
  if (mechanism == local::Mechanism::kLaplace)
    return {.cost = {.kind = transport::CostKind::kAbsolute}, .regularization = scale};
  return {.cost = {.kind = transport::CostKind::kSquared}, .regularization = 2 * scale * scale};
}

Pull pull_to(const Clouds& clouds, const Loss& loss) {
  const torch::NoGradGuard no_grad;
  const Clouds fixed{.x = clouds.x.detach(),
                     .y = clouds.y,
                     .labels_x = clouds.labels_x,
                     .labels_y = clouds.labels_y,
                     .start = clouds.start};
  if (loss.kind == LossKind::kWasserstein) return wasserstein(fixed, loss);
  return loss.kind == LossKind::kDivergence ? divergence(fixed, loss) : entropic(fixed, loss);
}

}  // namespace obol::method::ldp_wgan
