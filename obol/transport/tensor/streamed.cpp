#include "obol/transport/tensor/streamed.h"

#include <cmath>
#include <vector>

#include <ATen/cuda/CUDAContext.h>

#include "obol/transport/tensor/gpu_terms.h"

namespace obol::transport::streamed {
namespace {

using torch::Tensor;

cudaStream_t stream_of(const Tensor& tensor) {
  return at::cuda::getCurrentCUDAStream(tensor.device().index());
}

cuda::Points<float> points_of(const Tensor& rows, const Tensor& labels) {
  cuda::Points<float> points = gpu::points_of<float>(rows);
  if (labels.defined()) points.labels = labels.data_ptr<std::int64_t>();
  return points;
}

// One side of a problem.
struct Side {
  Tensor rows;
  Tensor labels;  // or undefined
};

struct Ground {
  Cost cost;
  double penalty;  // where labels differ

  Ground(const Cost& given, double label_weight)
      : cost(given), penalty(label_weight > 0 ? label_penalty(given, label_weight) : 0) {}
  [[nodiscard]] bool has_kernel() const { return cost.kind != CostKind::kPower; }
  [[nodiscard]] transport::Ground for_kernel() const {
    transport::Ground ground = ground_of(cost);
    ground.label_penalty = penalty;
    return ground;
  }
};

Tensor costs_of(const Side& x, const Side& y, const Ground& ground) {
  if (!ground.has_kernel()) {
    Tensor cost = cost_matrix(x.rows, y.rows, ground.cost);
    if (x.labels.defined()) add_label_penalty(cost, x.labels, y.labels, ground.penalty);
    return cost;
  }
  const Tensor cost = torch::empty({x.rows.size(0), y.rows.size(0)}, x.rows.options());
  const cuda::CostProblem<float> problem{points_of(x.rows, x.labels), points_of(y.rows, y.labels),
                                         cost.data_ptr<float>(), cost.size(1)};
  cuda::pairwise_cost(&problem, 1, x.rows.size(1), ground.for_kernel(), stream_of(cost));
  return cost;
}

struct Solved {
  Tensor cost;   // [n, m]
  Tensor f;      // [n]
  Tensor g;      // [m]
  Tensor log_b;  // undefined: uniform
  double regularization;

  [[nodiscard]] Tensor plan() const {
    const auto uniform = [](const Tensor& side) {
      return -std::log(static_cast<double>(side.size(0)));
    };
    const Tensor exponents = (f.unsqueeze(1) + g - cost) / regularization + uniform(f);
    return (log_b.defined() ? exponents + log_b : exponents + uniform(g)).exp_();
  }
};

Solved solve(const Tensor& cost, const Tensor& log_b, const SinkhornOptions& options,
             cuda::Mode mode) {
  const auto rows = static_cast<int>(cost.size(0));
  const auto columns = static_cast<int>(cost.size(1));
  Solved solved{cost, torch::empty({rows}, cost.options()), torch::empty({columns}, cost.options()),
                log_b, options.regularization};
  constexpr std::int64_t kForResult = 256;
  const auto scratch = static_cast<std::int64_t>(cuda::sinkhorn_workspace<float>(rows, columns));
  const Tensor memory = torch::empty({kForResult + scratch}, cost.options().dtype(torch::kByte));
  auto* first = memory.data_ptr<std::uint8_t>();
  cuda::SinkhornProblem<float> problem{cost.data_ptr<float>(),
                                       rows,
                                       columns,
                                       cost.size(1),
                                       solved.f.data_ptr<float>(),
                                       solved.g.data_ptr<float>(),
                                       reinterpret_cast<cuda::SinkhornResult*>(first)};
  if (log_b.defined()) problem.log_b = log_b.data_ptr<float>();
  problem.mode = mode;
  cuda::sinkhorn(&problem, 1, options, first + kForResult, stream_of(cost));
  return solved;
}

// What moves rows `first` and on of x: their own problem, or with the roles exchanged.
enum class Role { kLeft, kRight };
cuda::GradientTerm<float> term_of(const Solved& solved, const Tensor& other, std::int64_t first,
                                  Role role) {
  const std::int64_t n = solved.cost.size(0);
  const std::int64_t m = solved.cost.size(1);
  const bool is_left = role == Role::kLeft;
  cuda::GradientTerm<float> term{};
  term.first = first;
  term.rows = is_left ? n : m;
  term.y = gpu::points_of<float>(other);
  term.cost = solved.cost.data_ptr<float>();
  term.row_stride = is_left ? m : 1;
  term.column_stride = is_left ? 1 : m;
  term.f = (is_left ? solved.f : solved.g).data_ptr<float>();
  term.g = (is_left ? solved.g : solved.f).data_ptr<float>();
  if (is_left && solved.log_b.defined()) term.log_b = solved.log_b.data_ptr<float>();
  term.regularization = solved.regularization;
  term.scale = 1;
  return term;
}

Tensor sum_of(const Tensor& x, const Ground& ground,
              const std::vector<cuda::GradientTerm<float>>& terms) {
  Tensor gradient = torch::empty_like(x);
  cuda::pairwise_gradient(gpu::points_of<float>(x), x.size(1), ground.for_kernel(), terms.data(),
                          static_cast<int>(terms.size()), gradient.data_ptr<float>(), x.size(1),
                          stream_of(x));
  return gradient;
}

}  // namespace

Tensor gradient(const Sides& sides, const SinkhornOptions& options) {
  const torch::NoGradGuard no_grad;
  const Ground ground(sides.cost, sides.label_weight);
  Tensor log_b;
  Tensor count;
  if (sides.present.defined()) {
    count = sides.present.sum();
    log_b = (sides.present / count).log_();
  }
  Tensor cost = costs_of({sides.x, sides.labels_x}, {sides.y, sides.labels_y}, ground);
  // Annealing begins at the largest cost, which must be that of somebody.
  if (sides.present.defined()) cost.mul_(sides.present);
  const Solved solved = solve(cost, log_b, options, cuda::Mode::kTwoSided);
  const Tensor result = ground.has_kernel()
                            ? sum_of(sides.x, ground, {term_of(solved, sides.y, 0, Role::kLeft)})
                            : cost_gradient(sides.x, sides.y, solved.plan(), sides.cost);
  return count.defined() ? torch::where(count > 0, result, torch::zeros_like(result)) : result;
}

Tensor self_gradient(const Own& own, const SinkhornOptions& options) {
  const torch::NoGradGuard no_grad;
  const std::int64_t r = own.resampled;
  const std::int64_t n = own.x.size(0) - r;
  const Ground ground(own.cost, own.label_weight);
  const auto part = [&](std::int64_t from) -> Side {
    return {own.x.narrow(0, from, n),
            own.labels.defined() ? own.labels.narrow(0, from, n) : Tensor()};
  };
  const Side left = part(0);
  const Side right = part(r);
  const Solved solved = solve(costs_of(left, right, ground), {}, options,
                              r == 0 ? cuda::Mode::kSelf : cuda::Mode::kTwoSided);
  if (ground.has_kernel())
    return sum_of(
        own.x, ground,
        {term_of(solved, right.rows, 0, Role::kLeft), term_of(solved, left.rows, r, Role::kRight)});
  const Tensor plan = solved.plan();
  Tensor gradient = torch::zeros_like(own.x);
  gradient.narrow(0, 0, n).add_(cost_gradient(left.rows, right.rows, plan, own.cost));
  gradient.narrow(0, r, n).add_(cost_gradient(right.rows, left.rows, plan.t(), own.cost));
  return gradient;
}

Tensor potentials(const Tensor& x, const Tensor& y, std::int64_t classes, double regularization,
                  std::int64_t iterations) {
  const torch::NoGradGuard no_grad;
  const std::int64_t n = x.size(0) / classes;
  const std::int64_t m = y.size(0) / classes;
  const auto rows = static_cast<int>(n);
  const auto columns = static_cast<int>(m);
  const Tensor cost = torch::empty({classes, n, m}, x.options());
  const Tensor f = torch::empty({classes * n}, x.options());
  const Tensor g = torch::empty({classes * m}, x.options());
  const auto bytes = x.options().dtype(torch::kByte);
  const Tensor results =
      torch::empty({classes * static_cast<std::int64_t>(sizeof(cuda::SinkhornResult))}, bytes);
  const Tensor scratch = torch::empty(
      {static_cast<std::int64_t>(cuda::sinkhorn_workspace<float>(rows, columns))}, bytes);
  std::vector<cuda::CostProblem<float>> costs;
  std::vector<cuda::SinkhornProblem<float>> problems;
  for (std::int64_t c = 0; c < classes; ++c) {
    float* const of_class = cost.data_ptr<float>() + c * n * m;
    costs.push_back({gpu::points_of<float>(x.narrow(0, c * n, n)),
                     gpu::points_of<float>(y.narrow(0, c * m, m)), of_class, m});
    problems.push_back(
        {of_class, rows, columns, m, f.data_ptr<float>() + c * n, g.data_ptr<float>() + c * m,
         reinterpret_cast<cuda::SinkhornResult*>(results.data_ptr<std::uint8_t>()) + c});
  }
  cuda::pairwise_cost(costs.data(), static_cast<int>(classes), x.size(1), {GroundCost::kSquared},
                      stream_of(x));
  SinkhornOptions options{regularization};
  options.stopping = Stopping::kFixed;
  options.max_iterations = iterations;
  cuda::sinkhorn(problems.data(), static_cast<int>(classes), options,
                 scratch.data_ptr<std::uint8_t>(), stream_of(x));
  return f;
}

}  // namespace obol::transport::streamed
