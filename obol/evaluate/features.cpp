#include "obol/evaluate/features.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "obol/base/error.h"
#include "obol/model/max_pool.h"
#include "obol/transport/tensor/cost.h"

namespace obol::evaluate {

using torch::Tensor;

class FeatureNetwork final : public model::Classifier {
 public:
  FeatureNetwork(const data::ImageShape& shape, std::int64_t classes)
      : first_(register_module("first", convolution(shape.channels, kChannels))),
        second_(register_module("second", convolution(kChannels, 2 * kChannels))),
        hidden_(register_module(
            "hidden",
            torch::nn::Linear(2 * kChannels * (shape.height / 4) * (shape.width / 4), kWidth))),
        linear_(register_module("linear", torch::nn::Linear(kWidth, classes))) {}

  Tensor forward(const Tensor& images) override { return classify(features(images)); }

  Tensor features(const Tensor& images) {
    const Tensor small = model::max_pool_relu(first_->forward(images));
    const Tensor smaller = model::max_pool_relu(second_->forward(small));
    return hidden_->forward(smaller.flatten(1)).relu();
  }
  Tensor classify(const Tensor& features) {
    return linear_->forward(at::dropout(features, kDropout, is_training()));
  }

 private:
  static constexpr std::int64_t kChannels = 32;
  static constexpr std::int64_t kWidth = 128;
  static constexpr double kDropout = 0.5;

  static torch::nn::Conv2d convolution(std::int64_t in, std::int64_t out) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, 3).padding(1));
  }

  torch::nn::Conv2d first_;
  torch::nn::Conv2d second_;
  torch::nn::Linear hidden_;
  torch::nn::Linear linear_;
};

namespace {

constexpr std::int64_t kPart = 500;

Tensor squared_distances(const Tensor& x, const Tensor& y) {
  return transport::cost_matrix(x, y, {});
}

// The squared distance of each point to its `neighbours`-th nearest other one, [n].
Tensor squared_radii(const Tensor& points, std::int64_t neighbours) {
  std::vector<Tensor> radii;
  for (const Tensor& part : points.split(kPart))  // each point is its own nearest
    radii.push_back(std::get<0>(squared_distances(part, points).kthvalue(neighbours + 1, 1)));
  return torch::cat(radii);
}

// Whether each of `others` is in the neighbourhood of each point: [others, points], part by part.
template <class Use>
void for_each_part(const Tensor& others, const Tensor& points, const Tensor& radii,
                   const Use& use) {
  for (const Tensor& part : others.split(kPart)) use(squared_distances(part, points) <= radii);
}

double mean_of(const Tensor& truths) { return truths.to(torch::kDouble).mean().item<double>(); }

// The share of `others` that are in some neighbourhood of `points`.
double share_inside(const Tensor& others, const Tensor& points, std::int64_t neighbours) {
  std::vector<Tensor> inside;
  for_each_part(others, points, squared_radii(points, neighbours),
                [&](const Tensor& in) { inside.push_back(in.any(1)); });
  return mean_of(torch::cat(inside));
}

void check(const Tensor& points, const char* name, std::int64_t neighbours) {
  if (points.dim() != 2 || points.size(0) <= neighbours)
    throw InvalidArgument(violation(fmt::format("the number of {} features", name),
                                    fmt::format("more than {}", neighbours), points.size(0)));
}

}  // namespace

FeatureSpace::FeatureSpace(const LabelledImages& real, const DownstreamOptions& options,
                           const EpochReport& report) {
  torch::manual_seed(options.seed);
  const std::int64_t classes =
      std::max(options.num_classes, real.labels.max().item<std::int64_t>() + 1);
  network_ = std::make_shared<FeatureNetwork>(
      data::ImageShape{real.images.size(1), real.images.size(2), real.images.size(3)}, classes);
  DownstreamOptions by_adam = options;
  by_adam.classifier = "cnn";
  train(*network_, real, by_adam, report);
  network_->eval();
}

Features FeatureSpace::operator()(const Tensor& images,
                                  const std::function<void(std::int64_t images)>& report) const {
  const torch::NoGradGuard no_grad;
  const torch::Device device = network_->parameters().front().device();
  std::vector<Tensor> features;
  std::vector<Tensor> probabilities;
  for (const Tensor& part : images.split(kPart)) {
    const Tensor of_part = network_->features(part.to(device));
    features.push_back(of_part.cpu());
    probabilities.push_back(network_->classify(of_part).softmax(1).cpu());
    if (report) report(part.size(0));
  }
  return {torch::cat(features), torch::cat(probabilities)};
}

Score inception_score(const Tensor& probabilities, std::int64_t parts) {
  if (probabilities.dim() != 2 || parts < 1 || probabilities.size(0) < parts)
    throw InvalidArgument(violation("the images of an inception score",
                                    fmt::format("at least {}", parts), probabilities.size(0)));
  std::vector<double> scores;
  for (const Tensor& part : probabilities.to(torch::kDouble).tensor_split(parts)) {
    const Tensor marginal = part.mean(0, true);
    const Tensor divergence = (torch::xlogy(part, part) - torch::xlogy(part, marginal)).sum(1);
    scores.push_back(std::exp(divergence.mean().item<double>()));
  }
  const Tensor all = torch::tensor(at::ArrayRef<double>(scores), torch::kDouble);
  return {all.mean().item<double>(), all.std(false).item<double>()};
}

Overlap overlap(const Tensor& real, const Tensor& synthetic, const OverlapOptions& options) {
  const torch::NoGradGuard no_grad;
  const std::int64_t k = options.density_neighbours;
  check(real, "real", std::max(k, options.precision_neighbours));
  check(synthetic, "synthetic", options.precision_neighbours);
  Overlap result{.precision = share_inside(synthetic, real, options.precision_neighbours),
                 .recall = share_inside(real, synthetic, options.precision_neighbours)};
  Tensor hits = torch::zeros({real.size(0)}, torch::kLong);  // synthetic ones in each neighbourhood
  for_each_part(synthetic, real, squared_radii(real, k),
                [&](const Tensor& in) { hits += in.sum(0).cpu(); });
  result.density = hits.sum().item<double>() / static_cast<double>(k * synthetic.size(0));
  result.coverage = mean_of(hits > 0);
  return result;
}

}  // namespace obol::evaluate
