#include "obol/transport/tensor/gpu.h"

#include <algorithm>
#include <vector>

#include <ATen/cuda/CUDAContext.h>

#include "obol/transport/tensor/gpu_terms.h"
#include "obol/transport/tensor/types.h"

namespace obol::transport::gpu {
namespace {

using torch::Tensor;

// What the pointers of all problems point to, one block's values behind another's.
struct Held {
  Tensor f;
  Tensor g;
  Tensor log_a;
  Tensor log_b;

  Held(const std::vector<Block>& blocks, const std::vector<Solution>& starts) {
    const auto options = blocks[0].x.options();
    const auto joined = [](const auto& items, auto member) {
      std::vector<Tensor> parts;
      for (const auto& item : items) parts.push_back(item.*member);
      return torch::cat(parts);
    };
    log_a = joined(blocks, &Block::a).log_().to(options);
    log_b = joined(blocks, &Block::b).log_().to(options);
    f = starts.empty() ? torch::zeros_like(log_a) : joined(starts, &Solution::f).to(options);
    g = starts.empty() ? torch::zeros_like(log_b) : joined(starts, &Solution::g).to(options);
  }
};

// Where a block's values begin.
struct Offset {
  std::int64_t row = 0;
  std::int64_t column = 0;
};

template <class T>
cuda::SinkhornProblem<T> problem_of(const Block& block, const Held& held, const Offset& at,
                                    cuda::SinkhornResult* result) {
  cuda::SinkhornProblem<T> problem{};
  problem.cost = block.cost.data_ptr<T>();
  problem.rows = static_cast<int>(block.x.size(0));
  problem.columns = static_cast<int>(block.y.size(0));
  problem.leading = block.cost.stride(0);
  problem.f = held.f.data_ptr<T>() + at.row;
  problem.g = held.g.data_ptr<T>() + at.column;
  problem.result = result;
  problem.log_a = held.log_a.data_ptr<T>() + at.row;
  problem.log_b = held.log_b.data_ptr<T>() + at.column;
  return problem;
}

}  // namespace

std::vector<Tensor> cost_matrices(const PointPairs& pairs, const Cost& cost) {
  const Tensor& first = pairs[0].first;
  std::vector<Tensor> matrices;
  for (const auto& [x, y] : pairs)
    matrices.push_back(torch::empty({x.size(0), y.size(0)}, x.options()));
  with_type(first, [&](auto type) {
    using T = decltype(type);
    std::vector<cuda::CostProblem<T>> problems;
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const auto& [x, y] = pairs[k];
      problems.push_back({points_of<T>(x), points_of<T>(y), matrices[k].data_ptr<T>(), y.size(0)});
    }
    cuda::pairwise_cost(problems.data(), static_cast<int>(problems.size()), first.size(1),
                        ground_of(cost), at::cuda::getCurrentCUDAStream(first.device().index()));
  });
  return matrices;
}

// The kernel takes potentials. A plan is that of costs -log P and none.
Tensor cost_gradient(const Tensor& x, const Tensor& y, const Tensor& plan, const Cost& cost) {
  const Tensor logs = -plan.log().clamp_min(-80);
  const Tensor none_x = torch::zeros({x.size(0)}, x.options());
  const Tensor none_y = torch::zeros({y.size(0)}, y.options());
  Tensor gradient = torch::empty({x.size(0), x.size(1)}, x.options());
  with_type(x, [&](auto type) {
    using T = decltype(type);
    cuda::GradientTerm<T> term{};
    term.rows = x.size(0);
    term.y = points_of<T>(y);
    term.cost = logs.data_ptr<T>();
    term.row_stride = logs.stride(0);
    term.column_stride = logs.stride(1);
    term.f = none_x.data_ptr<T>();
    term.g = none_y.data_ptr<T>();
    term.log_a = none_x.data_ptr<T>();
    term.log_b = none_y.data_ptr<T>();
    cuda::pairwise_gradient(points_of<T>(x), x.size(1), ground_of(cost), &term, 1,
                            gradient.data_ptr<T>(), x.size(1),
                            at::cuda::getCurrentCUDAStream(x.device().index()));
  });
  return gradient;
}

std::vector<Solution> solve(const std::vector<Block>& blocks, const SinkhornOptions& options,
                            Side side, const std::vector<Solution>& starts) {
  const std::size_t count = blocks.size();
  const torch::Device device = blocks[0].x.device();
  const Tensor results =
      torch::empty({static_cast<std::int64_t>(count * sizeof(cuda::SinkhornResult))},
                   torch::TensorOptions(device).dtype(torch::kByte));
  auto* at_device = reinterpret_cast<cuda::SinkhornResult*>(results.data_ptr<std::uint8_t>());
  const Held held(blocks, starts);
  std::vector<Offset> offsets(count + 1);
  for (std::size_t k = 0; k < count; ++k)
    offsets[k + 1] = {offsets[k].row + blocks[k].x.size(0),
                      offsets[k].column + blocks[k].y.size(0)};
  with_type(blocks[0].x, [&](auto type) {
    using T = decltype(type);
    std::vector<cuda::SinkhornProblem<T>> problems;
    std::size_t bytes = 0;
    for (std::size_t k = 0; k < count; ++k) {
      problems.push_back(problem_of<T>(blocks[k], held, offsets[k], at_device + k));
      if (side == Side::kItself) problems.back().mode = cuda::Mode::kSelf;
      if (!starts.empty()) {
        problems.back().start_f = problems.back().f;
        problems.back().start_g = problems.back().g;
      }
      bytes = std::max(bytes,
                       cuda::sinkhorn_workspace<T>(problems.back().rows, problems.back().columns));
    }
    const Tensor workspace = torch::empty({static_cast<std::int64_t>(bytes)},
                                          torch::TensorOptions(device).dtype(torch::kByte));
    cuda::sinkhorn(problems.data(), static_cast<int>(count), options,
                   workspace.data_ptr<std::uint8_t>(),
                   at::cuda::getCurrentCUDAStream(device.index()));
  });
  const Tensor here = results.cpu();
  const Tensor f = held.f.to(torch::kDouble);
  const Tensor g = held.g.to(torch::kDouble);
  const auto* raw = reinterpret_cast<const cuda::SinkhornResult*>(here.data_ptr<std::uint8_t>());
  std::vector<Solution> solutions;
  for (std::size_t k = 0; k < count; ++k)
    solutions.push_back({.f = f.slice(0, offsets[k].row, offsets[k + 1].row),
                         .g = g.slice(0, offsets[k].column, offsets[k + 1].column),
                         .dual = raw[k].dual,
                         .primal = raw[k].primal,
                         .marginal_error = raw[k].marginal_error,
                         .iterations = raw[k].iterations,
                         .converged = raw[k].converged != 0,
                         .regularization = options.regularization});
  return solutions;
}

Tensor plan_rows(const Block& block, const Solution& solution, std::int64_t begin,
                 std::int64_t end) {
  const Tensor exponents = (solution.f.slice(0, begin, end).unsqueeze(1) + solution.g -
                            block.cost.slice(0, begin, end)) /
                               solution.regularization +
                           block.a.slice(0, begin, end).log().unsqueeze(1) + block.b.log();
  return exponents.exp_().to(block.x.options());
}

}  // namespace obol::transport::gpu
