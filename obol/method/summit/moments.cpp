#include "obol/method/summit/moments.h"

#include <algorithm>
#include <cmath>
#include <vector>

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

// The length of each of so many parts.
double part_length(std::size_t parts) {
  return std::sqrt((1 - kCounting * kCounting) / static_cast<double>(parts));
}

std::vector<features::PatchFeatures> patches_for(const MomentsOptions& options,
                                                 const data::ImageShape& shape,
                                                 const torch::Device& device) {
  if (options.patches == 0) return {};
  constexpr std::int64_t kSides[] = {5, 9};
  std::vector<features::PatchFeatures> patches;
  for (const std::int64_t side : kSides) {
    // Phases of equal size, whatever the side: windows of one brightness have lengths like sides.
    std::vector<double> frequencies =
        frequencies_of("method.patch_frequency", options.patch_frequency);
    for (double& frequency : frequencies)
      frequency *= static_cast<double>(kSides[0]) / static_cast<double>(side);
    patches.emplace_back(
        shape,
        features::PatchOptions{
            .count = options.patches, .side = side, .frequencies = frequencies, .device = device});
  }
  return patches;
}

}  // namespace

Tensor means_of(const Tensor& sums, std::size_t parts, double noise_multiplier) {
  const std::int64_t last = sums.size(1) - 1;
  // A class that is hardly there must not be divided by what the noise left of its count.
  const double least = std::max(1.0, 2 * noise_multiplier / kCounting);
  const Tensor counts = sums.narrow(1, last, 1).div(kCounting).clamp_min(least);
  return sums.narrow(1, 0, last) / (counts * part_length(parts));
}

Moments::Moments(const MomentsOptions& options, const data::ImageShape& shape,
                 const features::Scattering& scattering, std::int64_t classes,
                 const torch::Device& device)
    : options_(options),
      classes_(classes),
      scattering_(scattering),
      fourier_(scattering.dimension(),
               {.count = options.frequencies,
                .frequencies = frequencies_of("method.frequency", options.frequency),
                .bound = options.feature_bound,
                .device = device}),
      patches_(patches_for(options, shape, device)) {
  std::int64_t dimension = scattering.dimension() + fourier_.dimension();
  for (const features::PatchFeatures& patch : patches_) dimension += patch.dimension();
  targets_ = torch::zeros({classes, dimension}, device);
  running_ = torch::zeros({classes, dimension}, device);
  weight_ = torch::zeros({}, device);
  distance_ = torch::zeros({}, device);
}

void Moments::release(barrier::Door& door, const barrier::PrivateRecords& records,
                      double noise_multiplier) {
  const std::size_t parts = 2 + patches_.size();
  const double length = part_length(parts);
  barrier::SumBarrier barrier(door, {.clip_norm = 1,
                                     .noise_multiplier = noise_multiplier,
                                     .groups = classes_,
                                     .dimension = targets_.size(1) + 1,
                                     .purpose = kMoments});
  const auto contributions = [&](const barrier::Sample& some) {
    const Tensor scattered = scattering_.of_records(some.points).flatten(1);
    // On a grid, on which the sum of squares is exact in whatever order it is computed.
    const Tensor relative = barrier::on_outer_grid(scattered / options_.feature_bound);
    const Tensor bounded = relative / relative.square().sum(1, true).sqrt_().clamp_min_(1);
    std::vector<Tensor> rows = {bounded * length, fourier_.of_records(scattered) * length};
    for (const features::PatchFeatures& patch : patches_)
      rows.push_back(patch.of_records(some.points) * length);
    rows.push_back(torch::full({bounded.size(0), 1}, kCounting, bounded.options()));
    return barrier::Contributions{.rows = torch::cat(rows, 1), .groups = some.labels()};
  };
  const Tensor sums = barrier.release(records, contributions, kRecordsAtOnce);
  const Tensor means = means_of(sums, parts, noise_multiplier);
  targets_ = (means * weights_of_parts().to(means.options())).to(targets_.options());
}

// [d]: what the features of an image are multiplied by, so that squared distances have the weights
// of the recipe.
Tensor Moments::weights_of_parts() const {
  std::vector<Tensor> parts = {
      torch::full({scattering_.dimension()},
                  std::sqrt(options_.mean_weight) * options_.feature_bound),
      torch::full({fourier_.dimension()}, std::sqrt(options_.kernel_weight))};
  for (const features::PatchFeatures& patch : patches_)
    parts.push_back(torch::full({patch.dimension()}, std::sqrt(options_.patch_weight)));
  return torch::cat(parts);
}

Tensor Moments::embed(const Tensor& images, const Tensor& scattered) const {
  std::vector<Tensor> parts = {scattered * std::sqrt(options_.mean_weight),
                               fourier_(scattered) * std::sqrt(options_.kernel_weight)};
  for (const features::PatchFeatures& patch : patches_)
    parts.push_back(patch(images) * std::sqrt(options_.patch_weight));
  return torch::cat(parts, 1);
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
