#include "obol/method/summit/moments.h"

#include <algorithm>
#include <cmath>

#include "obol/barrier/outer.h"
#include "obol/barrier/sum.h"
#include "obol/method/state.h"
#include "obol/method/summit/entry.h"

namespace obol::method::summit {
namespace {

using torch::Tensor;

constexpr const char* kTargets = "moments";
constexpr const char* kRunning = "running means";
constexpr const char* kWeight = "weight of running means";
// A record's vector of length 1 has three parts: the count of a class has the noise over the first,
// the others share the rest.
constexpr double kCounting = 0.1;
constexpr std::int64_t kRecordsAtOnce = 512;

double feature_part() { return std::sqrt((1 - kCounting * kCounting) / 2); }

}  // namespace

ReleasedMeans means_of(const Tensor& sums, std::int64_t scattering_dimension,
                       const MomentsOptions& options, double noise_multiplier) {
  const std::int64_t last = sums.size(1) - 1;
  // A class that is hardly there must not be divided by what the noise left of its count.
  const double least = std::max(1.0, 2 * noise_multiplier / kCounting);
  const Tensor counts = sums.narrow(1, last, 1).div(kCounting).clamp_min(least) * feature_part();
  return {.scattering = sums.narrow(1, 0, scattering_dimension) * options.feature_bound / counts,
          .fourier = sums.narrow(1, scattering_dimension, last - scattering_dimension) / counts};
}

Moments::Moments(const MomentsOptions& options, std::int64_t scattering_dimension,
                 std::int64_t classes, const torch::Device& device)
    : options_(options),
      classes_(classes),
      fourier_(scattering_dimension, {.count = options.frequencies,
                                      .frequencies = frequencies_of(options),
                                      .bound = options.feature_bound,
                                      .device = device}) {
  const std::int64_t dimension = scattering_dimension + fourier_.dimension();
  targets_ = torch::zeros({classes, dimension}, device);
  running_ = torch::zeros({classes, dimension}, device);
  weight_ = torch::zeros({}, device);
  distance_ = torch::zeros({}, device);
}

void Moments::release(barrier::Door& door, const barrier::PrivateRecords& records,
                      const features::Scattering& scattering, double noise_multiplier) {
  const std::int64_t dimension = scattering.dimension();
  barrier::SumBarrier barrier(door, {.clip_norm = 1,
                                     .noise_multiplier = noise_multiplier,
                                     .groups = classes_,
                                     .dimension = targets_.size(1) + 1,
                                     .purpose = kMoments});
  const auto contributions = [&](const barrier::Sample& some) {
    const Tensor scattered = scattering.of_records(some.points).flatten(1);
    const Tensor fourier = fourier_.of_records(scattered);
    // On a grid, on which the sum of squares is exact in whatever order it is computed.
    const Tensor relative = barrier::on_outer_grid(scattered / options_.feature_bound);
    const Tensor bounded = relative / relative.square().sum(1, true).sqrt_().clamp_min_(1);
    const Tensor counting = torch::full({fourier.size(0), 1}, kCounting, fourier.options());
    return barrier::Contributions{
        .rows = torch::cat({bounded * feature_part(), fourier * feature_part(), counting}, 1),
        .groups = some.labels()};
  };
  const Tensor sums = barrier.release(records, contributions, kRecordsAtOnce);
  const ReleasedMeans means = means_of(sums, dimension, options_, noise_multiplier);
  targets_ = torch::cat({means.scattering * std::sqrt(options_.mean_weight),
                         means.fourier * std::sqrt(options_.kernel_weight)},
                        1)
                 .to(targets_.options());
}

Tensor Moments::embed(const Tensor& scattered) const {
  return torch::cat({scattered * std::sqrt(options_.mean_weight),
                     fourier_(scattered) * std::sqrt(options_.kernel_weight)},
                    1);
}

Tensor Moments::loss(const Tensor& rows) {
  const std::int64_t half = rows.size(0) / classes_ / 2;
  const Tensor by_class = rows.view({classes_, 2 * half, rows.size(1)});
  const Tensor first = by_class.narrow(1, 0, half).mean(1);
  const Tensor second = by_class.narrow(1, half, half).mean(1);
  const torch::NoGradGuard no_grad;
  const auto error_from = [&](const Tensor& other) {
    const Tensor past = running_ / weight_.clamp_min(1e-6);
    const Tensor trust = options_.memory * weight_.gt(0).to(torch::kFloat);
    return (trust * past + (1 - trust) * other.detach()) - targets_;
  };
  const Tensor of_first = error_from(second);
  const Tensor of_second = error_from(first);
  distance_ = ((first.detach() - targets_) * (second.detach() - targets_)).sum(1).mean();
  running_ = options_.memory * running_ + (1 - options_.memory) * (first + second).detach() / 2;
  weight_ = options_.memory * weight_ + (1 - options_.memory);
  const torch::AutoGradMode with_gradient(true);
  return (first * of_first + second * of_second).sum(1).mean();
}

void Moments::save(run::Sections& sections) const {
  sections[kTargets] = saved(targets_);
  sections[kRunning] = saved(running_);
  sections[kWeight] = saved(weight_);
}

void Moments::load(const run::Sections& sections) {
  restore(sections, kTargets, targets_);
  restore(sections, kRunning, running_);
  restore(sections, kWeight, weight_);
}

}  // namespace obol::method::summit
