#include "obol/transport/tensor/cost.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/transport/cpu/pairwise.h"
#include "obol/transport/tensor/gpu.h"
#include "obol/transport/tensor/types.h"

namespace obol::transport {
namespace {

using torch::Tensor;

double parse_parameter(std::string_view text, std::string_view name, double least) {
  const std::string_view number = text.substr(text.find(':') + 1);
  double value = 0;
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool is_number = status == std::errc{} && end == number.data() + number.size();
  if (!is_number || !std::isfinite(value) || value < least)
    throw InvalidArgument(violation(fmt::format("{} of a cost {}", name, text),
                                    fmt::format("a finite number of at least {}", least), number));
  return value;
}

template <class T>
cpu::Points<T> points_of(const Tensor& rows) {
  return {.data = rows.data_ptr<T>(),
          .count = static_cast<std::size_t>(rows.size(0)),
          .leading = static_cast<std::size_t>(rows.stride(0))};
}

// Of contiguous rows.
template <class T>
cpu::PairwiseInput<T> input_of(const Tensor& x, const Tensor& y, const Cost& cost) {
  return {.x = points_of<T>(x),
          .y = points_of<T>(y),
          .dimension = static_cast<std::size_t>(x.size(1)),
          .ground = ground_of(cost)};
}

double differences_of(const Tensor& x, const Tensor& y) {
  return static_cast<double>(x.size(0)) * static_cast<double>(y.size(0)) *
         static_cast<double>(x.size(1));
}

Tensor costs_of_differences(const Tensor& x, const Tensor& y, const Cost& cost) {
  Tensor matrix = torch::empty({x.size(0), y.size(0)}, x.options());
  with_type(x, [&](auto type) {
    using T = decltype(type);
    const auto in = input_of<T>(x, y, cost);
    parallel_rows(in.x.count, differences_of(x, y), [&](std::size_t begin, std::size_t end) {
      cpu::pairwise_cost(in, {begin, end}, matrix.data_ptr<T>(), in.y.count);
    });
  });
  return matrix;
}

// As many rows of x at a time as keep the differences to all of y small.
template <class Body>
void for_row_blocks(const Tensor& x, const Tensor& y, const Body& body) {
  constexpr std::int64_t kElements = 1 << 20;
  const std::int64_t a_row = std::max<std::int64_t>(1, y.size(0) * x.size(1));
  const std::int64_t rows = std::max<std::int64_t>(1, kElements / a_row);
  for (std::int64_t i = 0; i < x.size(0); i += rows)
    body(i, std::min<std::int64_t>(i + rows, x.size(0)));
}

Tensor power_costs(const Tensor& x, const Tensor& y, double power) {
  Tensor matrix = torch::empty({x.size(0), y.size(0)}, x.options());
  for_row_blocks(x, y, [&](std::int64_t begin, std::int64_t end) {
    const Tensor differences = x.slice(0, begin, end).unsqueeze(1) - y.unsqueeze(0);
    matrix.slice(0, begin, end).copy_(differences.abs_().pow_(power).sum(2));
  });
  return matrix;
}

Tensor power_gradient(const Tensor& x, const Tensor& y, const Tensor& plan, double power) {
  Tensor gradient = torch::empty({x.size(0), x.size(1)}, x.options());
  for_row_blocks(x, y, [&](std::int64_t begin, std::int64_t end) {
    const Tensor differences = x.slice(0, begin, end).unsqueeze(1) - y.unsqueeze(0);
    const Tensor slopes = differences.abs().pow_(power - 1).mul_(differences.sign());
    const Tensor weights = plan.slice(0, begin, end).unsqueeze(1);
    gradient.slice(0, begin, end).copy_(torch::bmm(weights, slopes).squeeze(1).mul_(power));
  });
  return gradient;
}

// Both sets moved by one vector, which changes no difference, to where products cancel least.
struct Centred {
  Tensor x;
  Tensor y;
  Centred(const Tensor& points_x, const Tensor& points_y) {
    const Tensor centre = (points_x.mean(0) + points_y.mean(0)) / 2;
    x = points_x - centre;
    y = points_y - centre;
  }
};

// Products with a sum of norms more than this many times the distance are computed again; what is
// left has a relative error of some ten roundings times as much.
template <class T>
constexpr double kCancels = sizeof(T) == 4 ? 100 : 1e5;

// From products to distances, in place. Entries that cancelled are taken of the differences.
template <class T>
void finish_squared(const cpu::PairwiseInput<T>& in, const T* norms_x, const T* norms_y, T* cost) {
  const std::size_t columns = in.y.count;
  parallel_rows(in.x.count, static_cast<double>(in.x.count * columns),
                [&](std::size_t begin, std::size_t end) {
                  for (std::size_t i = begin; i < end; ++i) {
                    T* row = cost + i * columns;
                    int cancelled = 0;
                    for (std::size_t j = 0; j < columns; ++j) {
                      const T norms = norms_x[i] + norms_y[j];
                      row[j] = norms - 2 * row[j];
                      cancelled += static_cast<int>(row[j] * static_cast<T>(kCancels<T>) < norms);
                    }
                    // Not finite is not less: such entries stay visible.
                    for (std::size_t j = 0; cancelled > 0 && j < columns; ++j) {
                      if (!(row[j] * static_cast<T>(kCancels<T>) < norms_x[i] + norms_y[j]))
                        continue;
                      auto pair = in;
                      pair.x = {in.x.data + i * in.x.leading, 1, in.x.leading};
                      pair.y = {in.y.data + j * in.y.leading, 1, in.y.leading};
                      cpu::pairwise_cost(pair, {0, 1}, row + j, 1);
                      --cancelled;
                    }
                  }
                });
}

// Products and norms of centred points, by tiles: their copies stay small beside the matrix.
Tensor products_and_norms(const Tensor& x, const Tensor& y, Tensor& norms_x, Tensor& norms_y) {
  constexpr std::int64_t kTile = 1024;
  Tensor products = torch::empty({x.size(0), y.size(0)}, x.options());
  norms_x = torch::empty({x.size(0)}, x.options());
  norms_y = torch::empty({y.size(0)}, x.options());
  const Tensor centre = (x.mean(0) + y.mean(0)) / 2;
  for (std::int64_t i = 0; i < x.size(0); i += kTile) {
    const Tensor rows = x.slice(0, i, i + kTile) - centre;
    norms_x.slice(0, i, i + kTile).copy_(rows.square().sum(1));
    for (std::int64_t j = 0; j < y.size(0); j += kTile) {
      const Tensor columns = y.slice(0, j, j + kTile) - centre;
      if (i == 0) norms_y.slice(0, j, j + kTile).copy_(columns.square().sum(1));
      Tensor tile = products.slice(0, i, i + kTile).slice(1, j, j + kTile);
      torch::mm_out(tile, rows, columns.t());
    }
  }
  return products;
}

Tensor squared_costs(const Tensor& x, const Tensor& y, const Cost& cost) {
  Tensor norms_x;
  Tensor norms_y;
  Tensor matrix = products_and_norms(x, y, norms_x, norms_y);
  with_type(x, [&](auto type) {
    using T = decltype(type);
    finish_squared<T>(input_of<T>(x, y, cost), norms_x.data_ptr<T>(), norms_y.data_ptr<T>(),
                      matrix.data_ptr<T>());
  });
  return matrix;
}

Tensor gradient_of_differences(const Tensor& x, const Tensor& y, const Tensor& plan,
                               const Cost& cost) {
  Tensor gradient = torch::empty({x.size(0), x.size(1)}, x.options());
  with_type(x, [&](auto type) {
    using T = decltype(type);
    const auto in = input_of<T>(x, y, cost);
    const cpu::PlanView<T> view{.data = plan.data_ptr<T>(),
                                .row_stride = static_cast<std::size_t>(plan.stride(0)),
                                .column_stride = static_cast<std::size_t>(plan.stride(1))};
    parallel_rows(in.x.count, differences_of(x, y), [&](std::size_t begin, std::size_t end) {
      cpu::pairwise_gradient(in, view, {begin, end}, cpu::Write::kOverwrite, gradient.data_ptr<T>(),
                             in.dimension);
    });
  });
  return gradient;
}

// A power that has a kernel of its own.
Cost simplest(const Cost& cost) {
  if (cost.kind != CostKind::kPower) return cost;
  if (cost.power == 1) return {.kind = CostKind::kAbsolute};
  if (cost.power == 2) return {.kind = CostKind::kSquared};
  return cost;
}

}  // namespace

Ground ground_of(const Cost& cost) {
  if (cost.kind == CostKind::kAbsolute) return {.kind = GroundCost::kAbsolute};
  if (cost.kind == CostKind::kMixture) return {.kind = GroundCost::kMixture, .mixing = cost.mixing};
  return {.kind = GroundCost::kSquared};
}

Cost parse_cost(std::string_view text) {
  if (text == "l2sq") return {.kind = CostKind::kSquared};
  if (text == "l1") return {.kind = CostKind::kAbsolute};
  if (text.starts_with("mixture:"))
    return {.kind = CostKind::kMixture, .mixing = parse_parameter(text, "the mixing M", 0)};
  if (text.starts_with("lp:"))
    return {.kind = CostKind::kPower, .power = parse_parameter(text, "the power P", 1)};
  throw InvalidArgument(violation("a cost", "l2sq, l1, mixture:M or lp:P", text));
}

std::string to_string(const Cost& cost) {
  switch (cost.kind) {
    case CostKind::kSquared:
      return "l2sq";
    case CostKind::kAbsolute:
      return "l1";
    case CostKind::kMixture:
      return fmt::format("mixture:{}", cost.mixing);
    case CostKind::kPower:
      return fmt::format("lp:{}", cost.power);
  }
  return {};
}

double label_penalty(const Cost& cost, double weight) {
  switch (cost.kind) {
    case CostKind::kSquared:
      return 2 * weight * weight;
    case CostKind::kAbsolute:
      return 2 * weight;
    case CostKind::kMixture:
      return 2 * weight * weight + 2 * cost.mixing * weight;
    case CostKind::kPower:
      return 2 * std::pow(weight, cost.power);
  }
  return 0;
}

std::vector<Tensor> cost_matrices(const PointPairs& pairs, const Cost& given) {
  const torch::NoGradGuard no_grad;
  const Cost cost = simplest(given);
  PointPairs dense;
  for (const auto& [x, y] : pairs) dense.emplace_back(with_dense_rows(x), with_dense_rows(y));
  const bool has_kernel = cost.kind != CostKind::kPower;
  if (has_kernel && !pairs.empty() && pairs[0].first.is_cuda())
    return gpu::cost_matrices(dense, cost);
  std::vector<Tensor> matrices;
  for (const auto& [x, y] : dense) {
    if (!has_kernel)
      matrices.push_back(power_costs(x, y, cost.power));
    else if (cost.kind == CostKind::kSquared)
      matrices.push_back(squared_costs(x, y, cost));
    else
      matrices.push_back(costs_of_differences(x, y, cost));
  }
  return matrices;
}

Tensor cost_matrix(const Tensor& x, const Tensor& y, const Cost& cost) {
  return cost_matrices({{x, y}}, cost)[0];
}

Tensor cost_gradient(const Tensor& x, const Tensor& y, const Tensor& plan, const Cost& given) {
  const torch::NoGradGuard no_grad;
  const Cost cost = simplest(given);
  const Tensor rows_x = with_dense_rows(x);
  const Tensor rows_y = with_dense_rows(y);
  if (cost.kind == CostKind::kPower) return power_gradient(rows_x, rows_y, plan, cost.power);
  if (cost.kind != CostKind::kSquared)
    return x.is_cuda() ? gpu::cost_gradient(rows_x, rows_y, plan, cost)
                       : gradient_of_differences(rows_x, rows_y, plan, cost);
  const Centred centred(rows_x, rows_y);
  return centred.x.mul_(plan.sum(1, true)).addmm_(plan, centred.y, 1, -1).mul_(2);
}

void add_label_penalty(Tensor& cost, const Tensor& labels_x, const Tensor& labels_y,
                       double penalty) {
  if (cost.is_cuda()) {
    cost.add_(labels_x.unsqueeze(1).ne(labels_y), penalty);
    return;
  }
  const Tensor left = labels_x.to(torch::kLong).contiguous();
  const Tensor right = labels_y.to(torch::kLong).contiguous();
  const auto* classes_x = left.data_ptr<std::int64_t>();
  const auto* classes_y = right.data_ptr<std::int64_t>();
  const auto columns = static_cast<std::size_t>(right.size(0));
  with_type(cost, [&](auto type) {
    using T = decltype(type);
    T* values = cost.data_ptr<T>();
    parallel_rows(static_cast<std::size_t>(left.size(0)), static_cast<double>(cost.numel()),
                  [&](std::size_t begin, std::size_t end) {
                    for (std::size_t i = begin; i < end; ++i)
                      for (std::size_t j = 0; j < columns; ++j)
                        if (classes_x[i] != classes_y[j])
                          values[i * columns + j] += static_cast<T>(penalty);
                  });
  });
}

}  // namespace obol::transport
