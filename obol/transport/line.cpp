#include "obol/transport/line.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/transport/masses.h"

namespace obol::transport {
namespace {

std::vector<std::size_t> left_to_right(std::span<const double> points, std::string_view name) {
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!std::isfinite(points[i])) {
      throw InvalidArgument(violation(fmt::format("{}[{}]", name, i), "finite", points[i]));
    }
  }
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t i, std::size_t j) { return points[i] < points[j]; });
  return order;
}

double power(double distance, double p) {
  if (p == 1) return distance;
  if (p == 2) return distance * distance;
  return std::pow(distance, p);
}

}  // namespace

LineResult line_transport(std::span<const double> x, std::span<const double> y,
                          std::span<const double> a, std::span<const double> b, double p) {
  if (!(p >= 1) || !std::isfinite(p)) {
    throw InvalidArgument(violation("p", "finite and at least 1", p));
  }
  const Masses masses = balance(a, x.size(), b, y.size());
  const auto rows = left_to_right(x, "x");
  const auto columns = left_to_right(y, "y");
  LineResult result;
  long double cost = 0;
  std::size_t next = 0;  // among columns
  std::int64_t room = masses.columns[columns[0]];
  for (const std::size_t i : rows) {
    for (std::int64_t supply = masses.rows[i]; supply > 0;) {
      while (room == 0) room = masses.columns[columns[++next]];
      const std::int64_t units = std::min(supply, room);
      const std::size_t j = columns[next];
      const double mass = masses.mass(units);
      result.plan.push_back({i, j, mass});
      cost += static_cast<long double>(mass) * power(std::abs(x[i] - y[j]), p);
      supply -= units;
      room -= units;
    }
  }
  result.cost = static_cast<double>(cost);
  return result;
}

}  // namespace obol::transport
