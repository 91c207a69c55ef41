#include "obol/features/patches.h"

#include <algorithm>
#include <cmath>

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/features/frequencies.h"
#include "obol/features/waves.h"

namespace obol::features {
namespace {

using torch::Tensor;

constexpr std::int64_t kCell = 4;            // pixels, each way
constexpr int kWaveBits = 24;                // of cosines and sines of records
constexpr std::int64_t kRecordsAtOnce = 16;  // whose windows are few enough for a cache

std::int64_t cells(std::int64_t pixels) { return (pixels + kCell - 1) / kCell; }

Tensor draw_weights(const data::ImageShape& shape, const PatchOptions& options) {
  if (options.side < 1 || options.side % 2 == 0)
    throw InvalidArgument(violation("The side of patches", "positive and odd", options.side));
  const std::int64_t inputs = shape.channels * options.side * options.side;
  return draw_frequencies(inputs, options.count, options.frequencies)
      .t()
      .reshape({options.count, shape.channels, options.side, options.side});
}

// Of phases [n, waves] to [n, 2, waves], by the kernel of floats, in which each number depends on
// its own phase alone.
Tensor waves_of(const Tensor& phases) {
  const std::int64_t count = phases.size(1);
  Tensor waves = torch::empty({phases.size(0), 2, count}, torch::kFloat);
  waves.select(1, 0).copy_(phases);
  auto* all = waves.data_ptr<float>();
  const auto kernel = wave_kernels().front().waves;
  at::parallel_for(0, phases.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      float* first = all + row * 2 * count;
      kernel(first, first + count, static_cast<std::size_t>(count), 1);
    }
  });
  return waves;
}

}  // namespace

PatchFeatures::PatchFeatures(const data::ImageShape& shape, const PatchOptions& options)
    : shape_(shape), weights_(draw_weights(shape, options)) {
  single_ = weights_.to(options.device, torch::kFloat);
}

std::int64_t PatchFeatures::dimension() const {
  return 2 * weights_.size(0) * cells(shape_.height) * cells(shape_.width);
}

// In the middle of zeros, up to multiples of a cell.
Tensor PatchFeatures::padded(const Tensor& images) const {
  if (images.dim() != 2 || images.size(1) != shape_.pixels())
    throw InvalidArgument(violation("Images for patches", fmt::format("of {}", to_string(shape_)),
                                    fmt::format("[{}]", fmt::join(images.sizes(), ", "))));
  const std::int64_t below = kCell * cells(shape_.height) - shape_.height;
  const std::int64_t beside = kCell * cells(shape_.width) - shape_.width;
  return at::constant_pad_nd(images.view({-1, shape_.channels, shape_.height, shape_.width}),
                             {beside / 2, beside - beside / 2, below / 2, below - below / 2});
}

Tensor PatchFeatures::operator()(const Tensor& images) const {
  const Tensor weights =
      images.scalar_type() == torch::kFloat ? single_ : weights_.to(images.options());
  const Tensor phases = at::conv2d(padded(images), weights, {}, 1, weights.size(-1) / 2);
  const Tensor means = at::avg_pool2d(at::cat({phases.cos(), phases.sin()}, 1), kCell);
  return means.flatten(1) / std::sqrt(static_cast<double>(dimension()) / 2);
}

Tensor PatchFeatures::of_records(const Tensor& images) const {
  const torch::NoGradGuard no_grad;
  const Tensor planes = padded(on_grid(images.to(torch::kCPU).clamp(-1, 1), kInputBits));
  const std::int64_t count = weights_.size(0);
  const std::int64_t side = weights_.size(-1);
  const Tensor weights = weights_.flatten(1);
  const std::int64_t rows = planes.size(2) / kCell;
  const std::int64_t columns = planes.size(3) / kCell;
  const double per_unit = std::ldexp(1.0, kWaveBits);
  const double scale = 1 / (per_unit * static_cast<double>(kCell * kCell) *
                            std::sqrt(static_cast<double>(dimension()) / 2));
  Tensor features = torch::empty({planes.size(0), dimension()}, torch::kDouble);
  for (std::int64_t from = 0; from < planes.size(0); from += kRecordsAtOnce) {
    const std::int64_t now = std::min(kRecordsAtOnce, planes.size(0) - from);
    const Tensor windows =
        at::im2col(planes.narrow(0, from, now), {side, side}, {1, 1}, {side / 2, side / 2}, {1, 1});
    // Exact, in whatever order the products are added up.
    const Tensor phases = torch::matmul(weights, windows).flatten(1);
    // And so are sums of whole numbers.
    const Tensor whole = waves_of(phases).to(torch::kDouble).mul_(per_unit).round_();
    features.narrow(0, from, now)
        .copy_(whole.view({now, 2 * count, rows, kCell, columns, kCell})
                   .sum({3, 5})
                   .flatten(1)
                   .mul_(scale));
  }
  return features.to(images.device());
}

}  // namespace obol::features
