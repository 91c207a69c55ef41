// bench_transport: optimal transport from points on, as JSON.
//
//   bench_transport points X.npy Y.npy REGULARIZATION ITERATIONS float|double   to value and plan
//   bench_transport mixture            the cost with its gradient, and the same by autograd
//   bench_transport memory             the peak of a large problem, in units of its cost matrix
//   bench_transport growth MOST PLOT.svg   seconds over the number of points
//
// One measurement of memory a process, so that the peak is its own.
#include <cstdint>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <torch/torch.h>

#include "bench/clock.h"
#include "bench/growth.h"
#include "bench/memory.h"
#include "obol/base/file.h"
#include "obol/data/npy.h"
#include "obol/transport/tensor/cost.h"
#include "obol/transport/tensor/problem.h"

namespace {

namespace bench = obol::bench;
namespace transport = obol::transport;
using torch::Tensor;

// So many iterations, whatever the error.
transport::SinkhornOptions exactly(std::int64_t iterations, double regularization) {
  return {.regularization = regularization, .tolerance = 0, .max_iterations = iterations};
}

Tensor read(const std::string& path, torch::ScalarType type) {
  const obol::FileBytes file(path);
  const auto stream = obol::data::open_stream(file, {});
  const auto header = obol::data::read_npy_header(*stream);
  auto values = obol::data::read_npy_values<double>(*stream, header, {});
  const std::vector<std::int64_t> shape(header.shape.begin(), header.shape.end());
  return torch::from_blob(values.data(), shape, torch::kDouble).to(type, false, true);
}

void points(const std::vector<std::string>& words) {
  const auto type = words.at(4) == "float" ? torch::kFloat : torch::kDouble;
  const transport::Problem problem{.x = read(words.at(0), type), .y = read(words.at(1), type)};
  const auto options = exactly(std::stoll(words.at(3)), std::stod(words.at(2)));
  transport::Solution solution;
  Tensor plan;
  const double seconds = bench::seconds_of([&] {
    solution = sinkhorn(problem, options);
    plan = transport_plan(problem, solution);
  });
  std::cout << fmt::format(
      R"({{"seconds": {}, "value": {}, "iterations": {}, "mass": {}, "threads": {}}})"
      "\n",
      seconds, solution.primal, solution.iterations, plan.sum().item<double>(),
      at::get_num_threads());
}

void mixture() {
  constexpr std::int64_t kN = 50;
  constexpr std::int64_t kM = 52;
  constexpr std::int64_t kDimension = 794;
  constexpr double kMixing = 0.5;
  const transport::Cost cost{.kind = transport::CostKind::kMixture, .mixing = kMixing};
  for (const auto type : {torch::kFloat, torch::kDouble}) {
    torch::manual_seed(1);
    const Tensor x = torch::randn({kN, kDimension}, type);
    const Tensor y = torch::randn({kM, kDimension}, type);
    const Tensor plan = torch::rand({kN, kM}, type);
    Tensor gradient;
    const double ours = bench::seconds_of([&] {
      const Tensor costs = cost_matrix(x, y, cost);
      gradient = cost_gradient(x, y, plan, cost);
    });
    const Tensor leaf = x.clone().requires_grad_();
    const double eager = bench::seconds_of([&] {
      leaf.mutable_grad() = Tensor();
      const Tensor differences = leaf.unsqueeze(1) - y.unsqueeze(0);
      const Tensor costs = (differences.square() + kMixing * differences.abs()).sum(2);
      (costs * plan).sum().backward();
    });
    const double error = (gradient - leaf.grad()).abs().max().item<double>() /
                         leaf.grad().abs().max().item<double>();
    std::cout << fmt::format(
        R"({{"type": "{}", "microseconds": {:.1f}, "eager_microseconds": {:.1f}, "difference": {:.1e}}})"
        "\n",
        type == torch::kFloat ? "float" : "double", ours * 1e6, eager * 1e6, error);
  }
}

void memory() {
  constexpr std::int64_t kPoints = 5000;
  constexpr std::int64_t kDimension = 784;
  constexpr std::int64_t kIterations = 5;
  constexpr double kRegularization = 20;
  const transport::Problem problem{.x = torch::randn({kPoints, kDimension}),
                                   .y = torch::randn({kPoints, kDimension})};
  const double before = bench::status_bytes("VmRSS");
  const transport::Solution solution = sinkhorn(problem, exactly(kIterations, kRegularization));
  const double solved = bench::status_bytes("VmHWM") - before;
  const Tensor plan = transport_plan(problem, solution);
  const double planned = bench::status_bytes("VmHWM") - before;
  const double matrix = static_cast<double>(plan.numel()) * static_cast<double>(sizeof(float));
  std::cout << fmt::format(
      R"({{"points": {}, "matrix_megabytes": {:.0f}, "solving": {:.3f}, "with_plan": {:.3f}}})"
      "\n",
      kPoints, matrix / 1e6, solved / matrix, planned / matrix);
}

void growth(const std::vector<std::string>& words) {
  constexpr std::int64_t kLeast = 32;
  const std::int64_t most = std::stoll(words.at(0));
  constexpr std::int64_t kDimension = 64;
  constexpr std::int64_t kIterations = 20;
  constexpr double kRegularization = 5;
  bench::Curve curve{.what = "20 iterations", .over = "points on each side", .points = {}};
  for (std::int64_t n = kLeast; n <= most; n *= 2) {
    torch::manual_seed(1);
    const transport::Problem problem{.x = torch::randn({n, kDimension}),
                                     .y = torch::randn({n, kDimension}) + 1};
    const auto options = exactly(kIterations, kRegularization);
    curve.points.emplace_back(n, bench::seconds_of([&] { sinkhorn(problem, options); }));
  }
  print(curve, words.at(1));
}

int run(const std::vector<std::string>& words) {
  const std::string what = words.empty() ? "" : words[0];
  const std::vector<std::string> rest(words.begin() + (words.empty() ? 0 : 1), words.end());
  if (what == "points" && rest.size() == 5)
    points(rest);
  else if (what == "mixture")
    mixture();
  else if (what == "memory")
    memory();
  else if (what == "growth" && rest.size() == 2)
    growth(rest);
  else
    return 2;
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run({argv + 1, argv + argc});
    if (code != 0) std::cerr << "usage: bench_transport points|mixture|memory|growth ...\n";
    return code;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
