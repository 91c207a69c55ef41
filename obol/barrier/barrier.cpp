#include "obol/barrier/barrier.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "obol/barrier/gpu.h"
#include "obol/base/error.h"

namespace obol::barrier {
namespace {

using torch::Tensor;

// Norms are taken in double; what is left is the rounding of a product in float.
constexpr double kRoundingOfClip = 1e-6;

double checked_noise(double noise, std::string_view purpose) {
  if (!std::isfinite(noise) || noise <= 0)
    throw InvalidArgument(
        violation(fmt::format("the noise of the {}", purpose), "finite and positive", noise));
  return noise;
}

// min(1, bound / norm), and 0 where the norm is not finite, or so large that the quotient, below
// the normal floats, would have too few digits.
Tensor scale_to(const Tensor& norms, double bound) {
  const Tensor scale = (bound / norms.clamp_min(bound)).clamp_max_(1);
  return torch::where(scale >= std::numeric_limits<float>::min(), scale, torch::zeros_like(scale));
}

Tensor finite_or_zero(const Tensor& values) { return torch::nan_to_num(values, 0.0, 0.0, 0.0); }

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
  return Mechanism::release(
      door_,
      {.purpose = kTraining,
       .event = privacy::SampledGaussian{.sampling_rate = checked.rate,
                                         .noise_multiplier = privacy::joint(
                                             options_.noise_multiplier, static_cast<double>(rows)),
                                         .count = 1},
       .bound = {.sensitivity = 2 * options_.clip_norm * root, .clip = options_.clip_norm}},
      checked.value);
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
  return Mechanism::release(
             door_,
             {.purpose = kTraining,
              .event = privacy::SampledGaussian{.sampling_rate = whole.rate,
                                                .noise_multiplier = options_.noise_multiplier,
                                                .count = 1},
              .bound = {.sensitivity = 2 * options_.clip_norm, .clip = options_.clip_norm}},
             whole.value)
      .view(sizes);
}

RecordBarrier::RecordBarrier(Door& door, const BarrierOptions& options, double regularization)
    : SumMechanism(door, options, kTraining), regularization_(regularization) {
  if (!std::isfinite(regularization) || regularization <= 0)
    throw InvalidArgument(violation("regularization", "finite and positive", regularization));
}

Tensor RecordBarrier::release(const Rows& rows, const Drawn<Sample>& sample) {
  const auto sum = sample.map([&](const Sample& records) {
    return exact_pull(rows, records, regularization_, options().clip_norm);
  });
  return release_sum(sum).to(rows.points.scalar_type());
}

ShardBarrier::ShardBarrier(const BarrierOptions& options, Clip clip, std::int64_t rows,
                           std::int64_t paid)
    : options_(options), clip_(clip), rows_(rows), uses_(paid) {
  check(options);
}

double ShardBarrier::root() const {
  return clip_ == Clip::kRows ? std::sqrt(static_cast<double>(rows_)) : 1;
}

privacy::Event ShardBarrier::event() const {
  const double outputs = clip_ == Clip::kRows ? static_cast<double>(rows_) : 1;
  return privacy::Gaussian{.noise_multiplier = privacy::joint(options_.noise_multiplier, outputs),
                           .count = 1};
}

Release ShardBarrier::one() const {
  return {.purpose = kTraining,
          .event = event(),
          .bound = {.sensitivity = 2 * options_.clip_norm * root(), .clip = options_.clip_norm},
          .times = Times::kOnce};
}

void ShardBarrier::pay(Door& door, std::int64_t use) { Mechanism::pay(door, one(), uses_, use); }

Tensor ShardBarrier::release(Door& door, const Private<Tensor>& answer, std::int64_t use) {
  std::vector<std::int64_t> sizes;
  const auto rows = answer.map([&](const Tensor& values) {
    if (values.size(0) != rows_)
      throw Error(fmt::format("an answer must have {} rows, but has {}", rows_, values.size(0)));
    sizes = values.sizes().vec();  // a fact of the program, not of the data
    return clip_ == Clip::kRows ? values.flatten(1) : values.flatten().unsqueeze(0);
  });
  return Mechanism::release(door, one(), uses_, use, rows).view(sizes);
}

HistogramBarrier::HistogramBarrier(Door& door, double noise, std::string_view purpose)
    : SumMechanism(door, {.clip_norm = 1, .noise_multiplier = checked_noise(noise, purpose)},
                   std::string(purpose)) {}

Tensor HistogramBarrier::release(const Private<Tensor>& counts) { return release_sum(counts); }

}  // namespace obol::barrier
