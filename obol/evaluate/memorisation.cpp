#include "obol/evaluate/memorisation.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/transport/tensor/cost.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

constexpr std::int64_t kGroups = 20;
constexpr std::int64_t kPartOfPoints = 500;

Tensor some_rows(const Tensor& images, std::int64_t count, std::uint64_t seed) {
  auto generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  return torch::randperm(images.size(0), generator, at::kLong).slice(0, 0, count);
}

// Distances to the nearest of each group of references.
struct Nearest {
  Tensor distances;  // [n, groups], double
  Tensor indices;    // [n]: the nearest of all
};

Nearest nearest(const Tensor& points, const Tensor& references) {
  std::vector<Tensor> distances;
  std::vector<Tensor> indices;
  for (const Tensor& part : points.split(kPartOfPoints)) {
    const Tensor squared = transport::cost_matrix(part, references, {});
    std::vector<Tensor> groups;
    for (const Tensor& group : squared.tensor_split(kGroups, 1)) groups.push_back(group.amin(1));
    distances.push_back(torch::stack(groups, 1).to(torch::kDouble).sqrt());
    indices.push_back(squared.argmin(1));
  }
  return {torch::cat(distances), torch::cat(indices)};
}

// The mean distance to the nearest reference when each group in turn is left out, [groups].
Tensor without_each(const Tensor& distances) {
  const Tensor two = std::get<0>(distances.topk(2, 1, false));
  const Tensor is_nearest =
      torch::zeros_like(distances, torch::kBool).scatter_(1, distances.argmin(1, true), true);
  return torch::where(is_nearest, two.slice(1, 1, 2), two.slice(1, 0, 1)).mean(0);
}

double jackknife_variance(const Tensor& values) {
  return values.var(false).item<double>() * static_cast<double>(values.numel() - 1);
}

// Half the width of the 95% interval of the ratio of means. There are three sources of chance.
// References must be among them: in many dimensions a few of them are nearest to most points, and
// others would have given another ratio. Resampling the points alone, as is common, gave intervals
// that held the truth 54 times in 100 in a simulation (Gaussians in 100 dimensions); these hold it
// 95 times or more.
double half_width(const Nearest& trained, const Nearest& held, double ratio) {
  constexpr double kQuantile = 2;
  const Tensor to_training = trained.distances.amin(1);
  const Tensor to_held_out = held.distances.amin(1);
  const Tensor mean_held_out = to_held_out.mean();
  const Tensor influence = (to_training - ratio * to_held_out) / mean_held_out;
  const double of_points = influence.var().item<double>() / static_cast<double>(influence.numel());
  const double of_training = jackknife_variance(without_each(trained.distances) / mean_held_out);
  const double of_held_out = jackknife_variance(to_training.mean() / without_each(held.distances));
  return kQuantile * std::sqrt(of_points + of_training + of_held_out);
}

}  // namespace

Memorisation memorisation(const Tensor& synthetic, const Tensor& training, const Tensor& held_out,
                          const MemorisationOptions& options, const std::function<void()>& report) {
  const torch::NoGradGuard no_grad;
  const std::int64_t smallest =
      std::min({synthetic.size(0), training.size(0), held_out.size(0), options.samples});
  if (smallest < kGroups)
    throw InvalidArgument(violation("the number of images of each side",
                                    fmt::format("at least {}", kGroups), smallest));
  Memorisation result;
  result.samples = std::min(options.samples, synthetic.size(0));
  result.references = std::min({training.size(0), held_out.size(0), options.references});
  const Tensor of_synthetic = some_rows(synthetic, result.samples, options.seed);
  const Tensor of_training = some_rows(training, result.references, options.seed + 1);
  const Tensor of_held_out = some_rows(held_out, result.references, options.seed + 2);
  const Tensor points = synthetic.index_select(0, of_synthetic).flatten(1);
  const Nearest trained = nearest(points, training.index_select(0, of_training).flatten(1));
  if (report) report();
  const Nearest held = nearest(points, held_out.index_select(0, of_held_out).flatten(1));
  if (report) report();
  const Tensor to_training = trained.distances.amin(1);
  result.ratio = (to_training.mean() / held.distances.amin(1).mean()).item<double>();
  if (!std::isfinite(result.ratio))
    throw InvalidArgument(
        violation("the held-out images", "others than the synthetic ones", "the same"));
  const double width = half_width(trained, held, result.ratio);
  result.low = std::max(0.0, result.ratio - width);
  result.high = result.ratio + width;

  const Tensor order = to_training.argsort();
  for (std::int64_t k = 0; k < std::min(options.closest, result.samples); ++k) {
    const auto row = order[k].item<std::int64_t>();
    const auto reference = trained.indices[row].item<std::int64_t>();
    result.closest.push_back({.synthetic = of_synthetic[row].item<std::int64_t>(),
                              .training = of_training[reference].item<std::int64_t>(),
                              .distance = to_training[row].item<double>()});
  }
  return result;
}

}  // namespace obol::evaluate
