// The sum of clipped pulls, computed exactly: see pull_arithmetic.h.
#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "obol/barrier/barrier.h"
#include "obol/barrier/gpu.h"
#include "obol/barrier/pull_arithmetic.h"
#include "obol/base/error.h"

namespace obol::barrier {
namespace {

using torch::Tensor;

// Points on the grid, and which of them take part: [classes, m, d] and [classes, m].
struct GridPoints {
  Tensor points;   // double
  Tensor squares;  // double: |t|^2
  Tensor present;  // double: 1 or 0
};

// One point; false where a coordinate is not finite. A number plus 1.5 2^52 is rounded to a whole
// one.
template <class T>
bool place_on_grid(const T* from, std::int64_t dimension, int bits, double* to, double* square) {
  const double per_unit = std::ldexp(1.0, bits);
  const double unit = std::ldexp(1.0, -bits);
  constexpr double kShift = 0x1.8p52;
  const double limit = kLargestCoordinate * per_unit;
  double sum = 0;
  double faults = 0;  // a number that is not finite gives NaN here
  for (std::int64_t j = 0; j < dimension; ++j) {
    const auto value = static_cast<double>(from[j]);
    faults += value * 0;
    const double scaled = std::max(-limit, std::min(limit, value * per_unit));
    to[j] = ((scaled + kShift) - kShift) * unit;
  }
  if (faults != 0) {
    std::fill_n(to, dimension, 0.0);
    *square = 0;
    return false;
  }
  for (std::int64_t j = 0; j < dimension; ++j) sum += to[j] * to[j];
  *square = sum;
  return true;
}

template <class T>
void place_all_on_grid(const Tensor& from, int bits, GridPoints& placed) {
  constexpr std::int64_t kWorthAThread = 16;
  const std::int64_t dimension = from.size(2);
  const auto* first = from.data_ptr<T>();
  auto* points = placed.points.data_ptr<double>();
  auto* squares = placed.squares.data_ptr<double>();
  auto* present = placed.present.data_ptr<double>();
  at::parallel_for(0, from.size(0) * from.size(1), kWorthAThread,
                   [&](std::int64_t begin, std::int64_t end) {
                     for (std::int64_t k = begin; k < end; ++k) {
                       const bool is_finite = place_on_grid(first + k * dimension, dimension, bits,
                                                            points + k * dimension, squares + k);
                       present[k] = is_finite ? 1 : 0;
                     }
                   });
}

GridPoints on_grid_of_cpu(const Tensor& given, const PullGrid& grid) {
  const Tensor from = given.contiguous();
  const auto options = torch::TensorOptions(torch::kDouble);
  GridPoints placed{torch::empty(from.sizes(), options),
                    torch::empty({from.size(0), from.size(1)}, options),
                    torch::empty({from.size(0), from.size(1)}, options)};
  if (from.scalar_type() == torch::kFloat)
    place_all_on_grid<float>(from, grid.point_bits, placed);
  else
    place_all_on_grid<double>(from.to(torch::kDouble), grid.point_bits, placed);
  return placed;
}

GridPoints on_grid(const Tensor& given, const PullGrid& grid) {
  if (given.is_cpu()) return on_grid_of_cpu(given, grid);
  const Tensor wide = given.to(torch::kDouble);
  const Tensor finite = wide.isfinite().all(2);
  const Tensor clamped = wide.nan_to_num(0, 0, 0).clamp(-kLargestCoordinate, kLargestCoordinate);
  GridPoints placed;
  placed.points = clamped.mul_(1 / grid.point_unit())
                      .round_()
                      .mul_(grid.point_unit())
                      .mul_(finite.unsqueeze(2));
  placed.squares = placed.points.square().sum(2);
  placed.present = finite.to(torch::kDouble);
  return placed;
}

Tensor product(const Tensor& a, const Tensor& b) {
  if (a.size(0) == 1) return torch::mm(a[0], b[0]).unsqueeze(0);
  return torch::bmm(a, b);
}

// Of [classes, rows, samples], in place.
void weigh(Tensor& products, const GridPoints& rows, const Tensor& potentials,
           const GridPoints& samples, const PullOptions& options) {
  if (!products.is_cpu()) {
    gpu::clipped_weights(products, rows.squares, potentials, samples.squares, options);
  } else {
    const std::int64_t n = products.size(1);
    const std::int64_t m = products.size(2);
    auto* all = products.data_ptr<double>();
    const auto* squares = rows.squares.data_ptr<double>();
    const auto* f = potentials.data_ptr<double>();
    const auto* square = samples.squares.data_ptr<double>();
    constexpr std::int64_t kWorthAThread = 64;
    at::parallel_for(0, products.size(0) * m, kWorthAThread,
                     [&](std::int64_t begin, std::int64_t end) {
                       for (std::int64_t at = begin; at < end; ++at) {
                         const std::int64_t c = at / m;
                         clipped_weights(all + c * n * m + at % m, m, n, squares + c * n, f + c * n,
                                         square[at], options);
                       }
                     });
  }
  products.mul_(samples.present.unsqueeze(1));
}

struct Pulled {
  GridPoints rows;    // [classes, n, d]
  Tensor potentials;  // [classes, n], double
  PullGrid grid;
  PullOptions options;

  // In units of the sums, [classes, n, d] of int64: exact.
  [[nodiscard]] Tensor sum(const Tensor& points, const Tensor& present) const {
    Tensor total;
    for (std::int64_t from = 0; from < points.size(1); from += kBlockRecords) {
      const std::int64_t count = std::min(kBlockRecords, points.size(1) - from);
      GridPoints samples = on_grid(points.narrow(1, from, count), grid);
      if (present.defined()) samples.present.mul_(present.narrow(1, from, count));
      Tensor weights = product(rows.points, samples.points.transpose(1, 2));
      weigh(weights, rows, potentials, samples, options);
      const Tensor block =
          rows.points.mul(weights.sum(2, true)).sub_(product(weights, samples.points));
      const Tensor units = block.mul(1 / grid.sum_unit()).to(torch::kLong);
      total = total.defined() ? total.add_(units) : units;
    }
    return total;
  }
};

}  // namespace

Tensor exact_pull(const Rows& rows, const Sample& samples, double regularization,
                  double clip_norm) {
  const torch::NoGradGuard no_grad;
  const std::int64_t dimension = rows.points.size(1);
  const auto wide = rows.points.options().dtype(torch::kDouble);
  const std::int64_t of_class = rows.points.size(0) / rows.classes;
  if (of_class > kMostRowsOfClass)
    throw InvalidArgument(violation("the rows of a class", "at most 2^20", of_class));
  const PullGrid grid = pull_grid(dimension);
  const GridPoints all = on_grid(rows.points.view({rows.classes, of_class, dimension}), grid);
  const Pulled pulled{all,
                      rows.potentials.to(wide).view({rows.classes, of_class}).contiguous(),
                      grid,
                      {.regularization = regularization, .limit = pull_limit(clip_norm)}};
  Tensor units = torch::zeros({rows.classes, of_class, dimension}, wide.dtype(torch::kLong));
  if (samples.present.defined()) {
    if (samples.points.size(0) > 0)
      units = pulled.sum(samples.points.view({rows.classes, -1, dimension}),
                         samples.present.to(wide).view({rows.classes, -1}));
  } else {
    // The drawn number is private; that it fits follows from the number of records, which is
    // public and checked by whoever trains.
    if (static_cast<double>(samples.points.size(0)) * clip_norm > kMostClippedSum)
      throw InvalidArgument(violation("clip_norm times the number of records",
                                      fmt::format("at most {}", kMostClippedSum), "more"));
    std::int64_t from = 0;
    for (std::int64_t c = 0; c < rows.classes; ++c) {
      const std::int64_t count = samples.class_counts[static_cast<std::size_t>(c)];
      if (count == 0) continue;
      const auto one = [&](const Tensor& of_all) { return of_all.narrow(0, c, 1); };
      const Pulled of_this{{one(all.points), one(all.squares), one(all.present)},
                           one(pulled.potentials),
                           grid,
                           pulled.options};
      one(units).copy_(of_this.sum(samples.points.narrow(0, from, count).unsqueeze(0), {}));
      from += count;
    }
  }
  return units.to(torch::kDouble)
      .mul_(grid.sum_unit())
      .clamp_(-kLargestSum, kLargestSum)
      .view(rows.points.sizes());
}

Tensor pull(const Rows& rows, const Sample& samples, double regularization, double clip_norm) {
  return exact_pull(rows, samples, regularization, clip_norm).to(rows.points.scalar_type());
}

}  // namespace obol::barrier
