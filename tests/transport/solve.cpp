// transport_solve: an exact transport problem from standard input to standard output, as text, so
// that tests in other languages can compare.
//
//   SOLVER N M, then N + M weights, then N x M costs      SOLVER: automatic or simplex
//   VALUE GAP CONVERGED, then N + M potentials, then lines ROW COLUMN MASS
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/transport/exact.h"

namespace {

namespace transport = obol::transport;

std::vector<double> read(std::size_t count) {
  std::vector<double> values(count);
  for (double& value : values) std::cin >> value;
  return values;
}

void run() {
  std::string solver;
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::cin >> solver >> rows >> columns;
  const auto a = read(rows);
  const auto b = read(columns);
  const auto cost = read(rows * columns);
  if (!std::cin) throw obol::DataError("the problem must be complete, but is not");
  const auto result = transport::exact_transport(
      transport::CostView<double>{cost, rows, columns}, a, b,
      {.solver = solver == "simplex" ? transport::ExactSolver::kSimplex
                                     : transport::ExactSolver::kAutomatic});
  std::cout << fmt::format("{} {} {}\n", result.value, result.gap, result.converged ? 1 : 0);
  std::cout << fmt::format("{} {}\n", fmt::join(result.f, " "), fmt::join(result.g, " "));
  for (const auto& [row, column, mass] : result.plan) {
    std::cout << fmt::format("{} {} {}\n", row, column, mass);
  }
}

}  // namespace

int main() {
  try {
    run();
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
