#include "obol/transport/masses.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string_view>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::transport {
namespace {

constexpr double kSumTolerance = 1e-9;
constexpr int kSumBits = 62;

// In extended precision, so that neither many small weights nor a few huge ones spoil it.
long double checked_sum(std::span<const double> weights, std::size_t count, std::string_view name,
                        std::string_view side) {
  if (count == 0)
    throw InvalidArgument(violation(fmt::format("the number of {}", side), "positive", 0));
  if (weights.empty()) return 1;
  if (weights.size() != count) {
    throw InvalidArgument(violation(fmt::format("the number of weights {}", name),
                                    fmt::format("0 or {}, that of {}", count, side),
                                    weights.size()));
  }
  long double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      throw InvalidArgument(
          violation(fmt::format("{}[{}]", name, i), "finite and non-negative", weights[i]));
    }
    sum += weights[i];
  }
  const auto rounded = static_cast<double>(sum);
  if (!(rounded > 0) || !std::isfinite(rounded)) {
    throw InvalidArgument(
        violation(fmt::format("the sum of {}", name), "finite and positive", rounded));
  }
  return sum;
}

bool all_equal(std::span<const double> weights) {
  return std::adjacent_find(weights.begin(), weights.end(), std::not_equal_to<>()) == weights.end();
}

std::vector<std::int64_t> in_units(std::span<const double> weights, std::size_t count,
                                   long double scale) {
  std::vector<std::int64_t> units(count);
  for (std::size_t i = 0; i < count; ++i) {
    const long double weight =
        weights.empty() ? 1.0L / static_cast<long double>(count) : weights[i];
    units[i] = std::llrint(weight * scale);
  }
  return units;
}

std::int64_t sum_of(const std::vector<std::int64_t>& units) {
  return std::accumulate(units.begin(), units.end(), std::int64_t{0});
}

}  // namespace

Masses balance(std::span<const double> a, std::size_t rows, std::span<const double> b,
               std::size_t columns) {
  const long double sum_a = checked_sum(a, rows, "a", "rows");
  const long double sum_b = checked_sum(b, columns, "b", "columns");
  // One empty span is uniform with the sum of the other, not with the sum 1.
  const long double total = a.empty() ? sum_b : sum_a;
  if (!a.empty() && !b.empty() &&
      std::abs(sum_a - sum_b) > kSumTolerance * std::max(sum_a, sum_b)) {
    throw InvalidArgument(violation("the sum of b",
                                    fmt::format("that of a, {}", static_cast<double>(sum_a)),
                                    static_cast<double>(sum_b)));
  }
  Masses masses;
  masses.uniform = all_equal(a) && all_equal(b);
  if (masses.uniform) {
    const auto common =
        std::lcm(static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns));
    masses.rows.assign(rows, common / static_cast<std::int64_t>(rows));
    masses.columns.assign(columns, common / static_cast<std::int64_t>(columns));
    masses.unit = total / static_cast<long double>(common);
    return masses;
  }
  // A power of two, by which most weights are divided without rounding.
  const int exponent = std::ilogb(total) + 1 - kSumBits;
  masses.unit = std::ldexp(1.0L, exponent);
  const long double scale = std::ldexp(1.0L, -exponent);
  masses.rows = in_units(a, rows, scale * (total / sum_a));
  masses.columns = in_units(b, columns, scale * (total / sum_b));
  // What rounding left over is some units for each weight; the largest can bear it.
  *std::max_element(masses.columns.begin(), masses.columns.end()) +=
      sum_of(masses.rows) - sum_of(masses.columns);
  return masses;
}

}  // namespace obol::transport
