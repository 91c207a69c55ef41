// transport_solve: a transport problem from standard input to standard output, as text, so that
// tests in other languages can compare.
//
//   SOLVER N M, then N + M weights, then N x M costs; SOLVER is automatic, simplex (both exact), or
//   entropic REGULARIZATION TOLERANCE
//   VALUE BOUND CONVERGED, then N + M potentials, then lines ROW COLUMN MASS
//
// BOUND is the gap of an exact problem, the dual value of an entropic one.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/transport/exact.h"
#include "obol/transport/sinkhorn.h"

namespace {

namespace transport = obol::transport;

std::vector<double> read(std::size_t count) {
  std::vector<double> values(count);
  for (double& value : values) std::cin >> value;
  return values;
}

struct Input {
  std::string solver;
  double regularization = 0;
  double tolerance = 0;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<double> a;
  std::vector<double> b;
  std::vector<double> costs;

  [[nodiscard]] transport::CostView<double> view() const { return {costs, rows, columns}; }
};

Input read_input() {
  Input in;
  std::cin >> in.solver;
  if (in.solver == "entropic") std::cin >> in.regularization >> in.tolerance;
  std::cin >> in.rows >> in.columns;
  in.a = read(in.rows);
  in.b = read(in.columns);
  in.costs = read(in.rows * in.columns);
  if (!std::cin) throw obol::DataError("the problem must be complete, but is not");
  return in;
}

template <class Result>
void print(const Result& result, double value, double bound) {
  std::cout << fmt::format("{} {} {}\n", value, bound, result.converged ? 1 : 0);
  std::cout << fmt::format("{} {}\n", fmt::join(result.f, " "), fmt::join(result.g, " "));
}

void print_entry(std::size_t row, std::size_t column, double mass) {
  std::cout << fmt::format("{} {} {}\n", row, column, mass);
}

void solve_exact(const Input& in) {
  const auto result = transport::exact_transport(
      in.view(), in.a, in.b,
      {.solver = in.solver == "simplex" ? transport::ExactSolver::kSimplex
                                        : transport::ExactSolver::kAutomatic});
  print(result, result.value, result.gap);
  for (const auto& [row, column, mass] : result.plan) print_entry(row, column, mass);
}

void solve_entropic(const Input& in) {
  constexpr std::int64_t kIterations = 1'000'000;
  const transport::Weights weights{in.a, in.b};
  const auto result = transport::sinkhorn<double>(in.view(), weights,
                                                  {.regularization = in.regularization,
                                                   .tolerance = in.tolerance,
                                                   .max_iterations = kIterations});
  print(result, result.primal, result.dual);
  std::vector<double> plan(in.costs.size());
  transport::transport_plan<double>(in.view(), weights, {result.f, result.g}, in.regularization,
                                    plan.data());
  for (std::size_t k = 0; k < plan.size(); ++k)
    print_entry(k / in.columns, k % in.columns, plan[k]);
}

}  // namespace

int main() {
  try {
    const Input in = read_input();
    if (in.solver == "entropic")
      solve_entropic(in);
    else
      solve_exact(in);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
