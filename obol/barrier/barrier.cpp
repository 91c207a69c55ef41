#include "obol/barrier/barrier.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/transport/tensor/cost.h"

namespace obol::barrier {
namespace {

using torch::Tensor;

// Norms are taken in double; what is left is the rounding of a product in float.
constexpr double kRoundingOfClip = 1e-6;
// The norm of a pull comes from distances and shares in float.
constexpr double kRoundingOfPull = 1e-4;
// A sum of pulls in float depends a little on all of them; by an estimate, some 6e-4 of clip_norm
// at 600 records a class that all pull one way. The noise is widened by this much.
constexpr double kRoundingOfSum = 1e-3;

void check(const BarrierOptions& options) {
  const auto need = [](double value, const char* name) {
    if (!std::isfinite(value) || value <= 0)
      throw InvalidArgument(violation(name, "finite and positive", value));
  };
  need(options.clip_norm, "clip_norm");
  need(options.noise_multiplier, "noise_multiplier");
}

// min(1, bound / norm), and 0 where the norm is not finite, or so large that the quotient, below
// the normal floats, would have too few digits.
Tensor scale_to(const Tensor& norms, double bound) {
  const Tensor scale = (bound / norms.clamp_min(bound)).clamp_max_(1);
  return torch::where(scale >= std::numeric_limits<float>::min(), scale, torch::zeros_like(scale));
}

Tensor finite_or_zero(const Tensor& values) { return torch::nan_to_num(values, 0.0, 0.0, 0.0); }

// Samples class by class, [classes, most of a class, dimension], short classes filled up; and
// [classes, most] with 0 where there is no sample.
struct ByClass {
  Tensor points;
  Tensor present;

  ByClass(const Sample& samples, std::int64_t count) {
    if (samples.present.defined()) {
      present = samples.present.view({count, -1});
      points = samples.points.view({count, present.size(1), -1});
      return;
    }
    const auto classes = static_cast<std::int64_t>(samples.class_counts.size());
    const std::int64_t most =
        *std::max_element(samples.class_counts.begin(), samples.class_counts.end());
    Tensor indices = torch::zeros({classes, most}, torch::kLong);
    Tensor mask = torch::zeros({classes, most}, torch::kFloat);
    std::int64_t from = 0;
    for (std::int64_t c = 0; c < classes; ++c) {
      const std::int64_t count = samples.class_counts[static_cast<std::size_t>(c)];
      indices[c].slice(0, 0, count) = torch::arange(from, from + count);
      mask[c].slice(0, 0, count) = 1;
      from += count;
    }
    present = mask.to(samples.points.options());
    points = from == classes * most
                 ? samples.points
                 : samples.points.index_select(0, indices.flatten().to(samples.points.device()));
    points = points.view({classes, most, -1});
  }
};

// Squared, [classes, rows, samples].
Tensor distances_of(const Tensor& x, const Tensor& samples) {
  transport::PointPairs pairs;
  for (std::int64_t c = 0; c < x.size(0); ++c) pairs.emplace_back(x[c], samples[c]);
  return torch::stack(transport::cost_matrices(pairs, {}));
}

}  // namespace

Tensor clip_rows(const Tensor& values, double bound) {
  if (values.is_cuda() && values.scalar_type() == torch::kFloat)
    return gpu::clipped_rows(values, bound);
  const Tensor norms = values.to(torch::kDouble).flatten(1).norm(2, {1}, true);
  const Tensor scale = scale_to(norms, bound / (1 + kRoundingOfClip)).to(values.scalar_type());
  return finite_or_zero(values).flatten(1).mul(scale).view(values.sizes());
}

Tensor clip_whole(const Tensor& values, double bound) {
  return clip_rows(values.flatten().unsqueeze(0), bound).view(values.sizes());
}

RowBarrier::RowBarrier(Door& door, const BarrierOptions& options) : door_(door), options_(options) {
  check(options);
}

Tensor RowBarrier::release(const Drawn<Tensor>& gradient, std::int64_t rows) {
  const double root = std::sqrt(static_cast<double>(rows));
  const auto checked = gradient.map([&](const Tensor& values) {
    // A fact of the program, not of the data.
    if (values.size(0) != rows)
      throw Error(fmt::format("a gradient must have {} rows, but has {}", rows, values.size(0)));
    return values;
  });
  return door_.release(
      kTraining,
      privacy::SampledGaussian{.sampling_rate = checked.rate,
                               .noise_multiplier = options_.noise_multiplier / root,
                               .count = 1},
      {.sensitivity = 2 * options_.clip_norm * root, .clip = options_.clip_norm}, checked.value);
}

BatchBarrier::BatchBarrier(Door& door, const BarrierOptions& options)
    : door_(door), options_(options) {
  check(options);
}

Tensor BatchBarrier::release(const Drawn<Tensor>& gradient) {
  std::vector<std::int64_t> sizes;
  const auto whole = gradient.map([&](const Tensor& values) {
    sizes = values.sizes().vec();  // a fact of the program, not of the data
    return values.flatten().unsqueeze(0);
  });
  return door_
      .release(kTraining,
               privacy::SampledGaussian{.sampling_rate = whole.rate,
                                        .noise_multiplier = options_.noise_multiplier,
                                        .count = 1},
               {.sensitivity = 2 * options_.clip_norm, .clip = options_.clip_norm}, whole.value)
      .view(sizes);
}

Tensor pull(const Rows& rows, const Sample& samples, double regularization, double clip_norm) {
  const torch::NoGradGuard no_grad;
  if (samples.points.size(0) == 0) return torch::zeros_like(rows.points);
  const ByClass others(samples, rows.classes);
  const Tensor x = rows.points.view({rows.classes, -1, rows.points.size(1)});
  const Tensor potentials = rows.potentials.to(x.options()).view({rows.classes, -1, 1});
  const Tensor distances = distances_of(x, others.points);
  const Tensor shares = torch::softmax((potentials - distances).div_(regularization), 1);
  const Tensor norms = shares.square().mul_(distances).sum(1).sqrt_();
  const Tensor scale = scale_to(norms, clip_norm / (1 + kRoundingOfPull)).mul_(others.present);
  const Tensor weighted = shares.mul(scale.unsqueeze(1));
  return torch::baddbmm(x * weighted.sum(2, true), weighted, others.points, 1, -1)
      .view(rows.points.sizes());
}

RecordBarrier::RecordBarrier(Door& door, const BarrierOptions& options, double regularization)
    : door_(door), options_(options), regularization_(regularization) {
  check(options);
  if (!std::isfinite(regularization) || regularization <= 0)
    throw InvalidArgument(violation("regularization", "finite and positive", regularization));
}

Tensor RecordBarrier::release(const Rows& rows, const Drawn<Sample>& sample) {
  const auto sum = sample.map([&](const Sample& records) {
    return finite_or_zero(pull(rows, records, regularization_, options_.clip_norm));
  });
  return door_.release(
      kTraining,
      privacy::SampledGaussian{
          .sampling_rate = sum.rate, .noise_multiplier = options_.noise_multiplier, .count = 1},
      {.sensitivity = options_.clip_norm * (1 + kRoundingOfSum)}, sum.value);
}

ShardBarrier::ShardBarrier(const BarrierOptions& options, Clip clip, std::int64_t rows,
                           std::int64_t paid)
    : options_(options), clip_(clip), rows_(rows), paid_(paid) {
  check(options);
}

double ShardBarrier::root() const {
  return clip_ == Clip::kRows ? std::sqrt(static_cast<double>(rows_)) : 1;
}

privacy::Event ShardBarrier::event() const {
  return privacy::Gaussian{.noise_multiplier = options_.noise_multiplier / root(), .count = 1};
}

void ShardBarrier::pay(Door& door, std::int64_t use) {
  for (; paid_ < use; ++paid_) door.pay(kTraining, event(), Door::Times::kOnce);
}

Tensor ShardBarrier::release(Door& door, const Private<Tensor>& answer, std::int64_t use) {
  std::vector<std::int64_t> sizes;
  const auto rows = answer.map([&](const Tensor& values) {
    if (values.size(0) != rows_)
      throw Error(fmt::format("an answer must have {} rows, but has {}", rows_, values.size(0)));
    sizes = values.sizes().vec();  // a fact of the program, not of the data
    return clip_ == Clip::kRows ? values.flatten(1) : values.flatten().unsqueeze(0);
  });
  pay(door, use);
  return door
      .open(event(), {.sensitivity = 2 * options_.clip_norm * root(), .clip = options_.clip_norm},
            rows)
      .view(sizes);
}

HistogramBarrier::HistogramBarrier(Door& door, double noise, std::string_view purpose)
    : door_(door), noise_(noise), purpose_(purpose) {
  if (!std::isfinite(noise) || noise <= 0)
    throw InvalidArgument(
        violation(fmt::format("the noise of the {}", purpose), "finite and positive", noise));
}

Tensor HistogramBarrier::release(const Private<Tensor>& counts) {
  return door_.release(purpose_, privacy::Gaussian{.noise_multiplier = noise_, .count = 1},
                       {.sensitivity = 1}, counts, Door::Times::kOnce);
}

}  // namespace obol::barrier
