#include "obol/transport/tensor/loss.h"

#include <algorithm>
#include <vector>

#include "obol/base/error.h"
#include "obol/transport/tensor/block.h"

namespace obol::transport {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Variable;
using torch::autograd::variable_list;

struct Gradients {
  Tensor x;  // undefined where not asked for
  Tensor y;
};

void add_to(Tensor& whole, const Tensor& part, const Block& block, const Tensor& indices) {
  if (!indices.defined())
    whole.add_(part);
  else
    whole.index_add_(0, indices, part, block.mass);
}

// A few rows of the plan at a time.
void add_gradients(const Block& block, const Solution& solution, const Cost& cost,
                   Gradients& gradients) {
  constexpr std::int64_t kElements = 1 << 22;
  const std::int64_t n = block.x.size(0);
  const std::int64_t chunk = std::max<std::int64_t>(1, kElements / block.y.size(0));
  std::vector<Tensor> rows;
  Tensor columns = gradients.y.defined() ? torch::zeros_like(block.y) : Tensor();
  for (std::int64_t begin = 0; begin < n; begin += chunk) {
    const std::int64_t end = std::min(n, begin + chunk);
    const Tensor plan = plan_rows(block, solution, begin, end);
    const Tensor x = block.x.slice(0, begin, end);
    if (gradients.x.defined()) rows.push_back(cost_gradient(x, block.y, plan, cost));
    if (columns.defined()) columns.add_(cost_gradient(block.y, x, plan.t(), cost));
  }
  if (gradients.x.defined()) add_to(gradients.x, torch::cat(rows), block, block.rows);
  if (columns.defined()) add_to(gradients.y, columns, block, block.columns);
}

struct Valued {
  Tensor value;
  Gradients gradients;
};

Valued value_and_gradients(const Problem& problem, const SinkhornOptions& options, Side side,
                           bool of_x, bool of_y) {
  Valued result;
  if (of_x) result.gradients.x = torch::zeros_like(problem.x.flatten(1));
  if (of_y) result.gradients.y = torch::zeros_like(problem.y.flatten(1));
  double dual = 0;
  const std::vector<Block> blocks = blocks_of(problem, side);
  const std::vector<Solution> solutions = solve(blocks, options, side);
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    dual += blocks[k].mass * solutions[k].dual;
    if (of_x || of_y) add_gradients(blocks[k], solutions[k], problem.cost, result.gradients);
  }
  result.value = torch::full({}, dual, problem.x.options().requires_grad(false));
  return result;
}

void refuse_second_derivatives() {
  if (torch::GradMode::is_enabled())
    throw InvalidArgument(violation("the derivative of a transport loss", "taken once",
                                    "asked for with create_graph"));
}

class Between : public torch::autograd::Function<Between> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& y,
                        const Problem* problem, const SinkhornOptions* options) {
    const Valued result =
        value_and_gradients(*problem, *options, Side::kOther, x.requires_grad(), y.requires_grad());
    context->save_for_backward({result.gradients.x, result.gradients.y});
    context->saved_data["x"] = x.sizes();
    context->saved_data["y"] = y.sizes();
    return result.value;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_second_derivatives();
    const variable_list saved = context->get_saved_variables();
    const auto of = [&](std::size_t which, const char* name) {
      if (!saved[which].defined()) return Tensor();
      return (saved[which] * gradients[0]).view(context->saved_data[name].toIntVector());
    };
    return {of(0, "x"), of(1, "y"), Tensor(), Tensor()};
  }
};

class Within : public torch::autograd::Function<Within> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& x, const Problem* problem,
                        const SinkhornOptions* options) {
    Valued result =
        value_and_gradients(*problem, *options, Side::kItself, x.requires_grad(), false);
    // Each point stands on both sides, and the plan is symmetric.
    if (x.requires_grad()) result.gradients.x = (2 * result.gradients.x).view(x.sizes());
    context->save_for_backward({result.gradients.x});
    return result.value;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    refuse_second_derivatives();
    return {context->get_saved_variables()[0] * gradients[0], Tensor(), Tensor()};
  }
};

}  // namespace

Tensor entropic_cost(const Problem& problem, const SinkhornOptions& options) {
  return Between::apply(problem.x, problem.y, &problem, &options);
}

Tensor entropic_self_cost(const Problem& problem, const SinkhornOptions& options) {
  return Within::apply(problem.x, &problem, &options);
}

Tensor sinkhorn_divergence(const Problem& problem, const SinkhornOptions& options) {
  const Problem of_y{.x = problem.y,
                     .y = {},
                     .cost = problem.cost,
                     .a = problem.b,
                     .labels_x = problem.labels_y,
                     .label_weight = problem.label_weight};
  return 2 * entropic_cost(problem, options) - entropic_self_cost(problem, options) -
         entropic_self_cost(of_y, options);
}

}  // namespace obol::transport
