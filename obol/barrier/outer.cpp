#include "obol/barrier/outer.h"

#include <algorithm>
#include <cmath>

#include "obol/base/error.h"

namespace obol::barrier {
namespace {

using torch::Tensor;

constexpr int kExactBits = 53;
constexpr int kLeftBits = 17;
constexpr int kMostRightBits = 20;
constexpr std::int64_t kMostRight = std::int64_t{1} << 20;
// Records whose products one matrix product sums up: 2^16 of 2^(17 + 20) units would be exact, and
// so few stay in a cache between one operation and the next.
constexpr std::int64_t kProductsAtOnce = 512;

// Whole numbers, as doubles. `bounded` is within [-1, 1].
Tensor in_units(const Tensor& bounded, int bits) {
  return bounded.mul(std::ldexp(1.0, bits)).round_();
}

Tensor takes_part(const OuterProducts& products) {
  Tensor takes = products.left.isfinite().all(1).logical_and_(products.right.isfinite().all(1));
  if (products.present.defined()) takes.logical_and_(products.present.ne(0));
  return takes.unsqueeze(1);
}

// docs/guarantees/barriers.md refers to the steps.
Tensor units_of(const OuterProducts& products, double clip_norm, const OuterGrid& grid) {
  // 1. What takes part, on the grid of the right rows.
  const Tensor absent = takes_part(products).logical_not_();
  const auto bounded = [&](const Tensor& rows) {
    return rows.to(torch::kDouble).masked_fill(absent, 0).clamp_(-1, 1);
  };
  const Tensor right = in_units(bounded(products.right), grid.right_bits);
  const Tensor left = bounded(products.left).mul_(std::ldexp(1.0, grid.left_bits));
  // 2. At least the length of each product. Sums of squares of whole numbers are exact.
  const Tensor right_length = right.square().sum(1, true).sqrt_();
  const Tensor left_length = left.abs().ceil_().square_().sum(1, true).sqrt_();
  // 3. Clipped, and rounded towards zero.
  const double limit =
      clip_norm * (1 - 0x1p-30) * std::ldexp(1.0, grid.left_bits + grid.right_bits);
  const Tensor scale = (right_length * left_length).reciprocal_().mul_(limit).clamp_max_(1);
  return torch::mm(left.mul(scale).trunc_().t(), right).to(torch::kLong);
}

}  // namespace

OuterGrid outer_grid(std::int64_t right_dimension) {
  if (right_dimension < 1 || right_dimension > kMostRight)
    throw InvalidArgument(
        violation("the dimension of a row", "between 1 and 2^20", right_dimension));
  int dimension_bits = 0;
  while ((std::int64_t{1} << dimension_bits) < right_dimension) ++dimension_bits;
  return {.left_bits = kLeftBits,
          .right_bits = std::min(kMostRightBits, (kExactBits - dimension_bits) / 2)};
}

Tensor on_outer_grid(const Tensor& right) {
  const double units = std::ldexp(1.0, outer_grid(right.size(1)).right_bits);
  return right.to(torch::kDouble).clamp(-1, 1).mul_(units).round_().div_(units);
}

Tensor sum_of_outer_products(const OuterProducts& products, double clip_norm) {
  const torch::NoGradGuard no_grad;
  const std::int64_t count = products.left.size(0);
  if (products.left.dim() != 2 || products.right.dim() != 2 || products.right.size(0) != count)
    throw Error("outer products must have one left and one right row a record");
  const OuterGrid grid = outer_grid(products.right.size(1));
  Tensor units = torch::zeros({products.left.size(1), products.right.size(1)},
                              products.right.options().dtype(torch::kLong));
  for (std::int64_t from = 0; from < count; from += kProductsAtOnce) {
    const std::int64_t now = std::min(kProductsAtOnce, count - from);
    const auto part = [&](const Tensor& all) {
      return all.defined() ? all.narrow(0, from, now) : all;
    };
    units += units_of({part(products.left), part(products.right), part(products.present)},
                      clip_norm, grid);
  }
  return units.to(torch::kDouble)
      .clamp_(-kMostUnits, kMostUnits)
      .mul_(std::ldexp(1.0, -grid.left_bits - grid.right_bits));
}

OuterBarrier::OuterBarrier(Door& door, const OuterOptions& options)
    : SumMechanism(door,
                   {.clip_norm = options.clip_norm, .noise_multiplier = options.noise_multiplier},
                   options.purpose),
      left_(options.left),
      right_(options.right) {
  static_cast<void>(outer_grid(right_));
  if (left_ < 1)
    throw InvalidArgument(violation("the dimension of a left row", "at least 1", left_));
  if (options.purpose.empty())
    throw InvalidArgument(violation("the purpose of a sum", "given", "empty"));
}

Tensor OuterBarrier::release(const Drawn<OuterProducts>& products) {
  return release_sum(products.map([&](const OuterProducts& all) {
    // A fact of the program, not of the data.
    if (all.left.size(1) != left_ || all.right.size(1) != right_)
      throw Error("outer products must have the dimensions that the barrier was made for");
    return sum_of_outer_products(all, options().clip_norm);
  }));
}

}  // namespace obol::barrier
