#include "bench/eager_dp_sinkhorn.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <variant>

#include "obol/method/trainee.h"

namespace obol::bench {
namespace {

using method::dp_sinkhorn::Options;
using torch::Tensor;

EagerGenerator generator_of(const Options& options, const data::Dataset& data,
                            const torch::Device& device) {
  const auto ours = model::make_generator(options.generator, data.shape, data.num_classes());
  ours->to(device);
  return EagerGenerator(*ours);
}

// Bytes to [lowest, 1], once for all: the paper's code has floats in memory.
Labelled records_of(const data::Dataset& data, double lowest, const torch::Device& device) {
  const auto& bytes = std::get<data::PixelBytes>(data.pixels);
  const Tensor pixels = torch::from_blob(const_cast<std::uint8_t*>(bytes.data()),
                                         {data.count(), data.shape.pixels()}, torch::kByte);
  return {pixels.to(device, torch::kFloat).mul_((1 - lowest) / 255).add_(lowest),
          torch::tensor(data.labels, torch::kLong).to(device)};
}

Tensor softmin(double e, const Tensor& cost, const Tensor& potentials, std::int64_t along) {
  const double log_count = std::log(static_cast<double>(cost.size(along)));
  return -e * (torch::logsumexp((potentials - cost) / e, along, true) - log_count);
}

// <P, C>, the plan standing still.
Tensor annealed_cost(const Tensor& x, const Tensor& y, double regularization) {
  const Tensor differences = x.unsqueeze(1) - y.unsqueeze(0);
  const Tensor cost = differences.square().sum(2) + differences.abs().sum(2);
  Tensor plan;
  {
    const torch::NoGradGuard no_grad;
    Tensor f = torch::zeros({x.size(0), 1}, x.options());
    Tensor g = torch::zeros({1, y.size(0)}, x.options());
    const auto sweep = [&](double e) {
      f = softmin(e, cost, g, 1);
      g = softmin(e, cost, f, 0);
    };
    for (double e = cost.max().item<double>(); e > regularization; e *= 0.5) sweep(e);
    sweep(regularization);
    plan = ((f + g - cost) / regularization).exp() / static_cast<double>(cost.numel());
  }
  return (plan * cost).sum();
}

Tensor with_labels(const Labelled& x, const EagerLoss& loss) {
  const Tensor hot = torch::one_hot(x.labels, loss.classes).to(x.points.scalar_type());
  return torch::cat({x.points, hot * loss.label_weight}, 1);
}

// Infinite between classes.
Tensor squared_within_classes(const Labelled& x, const Labelled& y) {
  const Tensor differ = x.labels.unsqueeze(1).ne(y.labels.unsqueeze(0));
  return torch::cdist(x.points, y.points)
      .square()
      .masked_fill(differ, std::numeric_limits<double>::infinity());
}

Tensor clipped(const Tensor& norms, double bound) { return (bound / norms).clamp_max(1); }

}  // namespace

Tensor eager_gradient(const Labelled& x, const Labelled& y, const EagerLoss& loss) {
  const std::int64_t n = x.points.size(0) - loss.resampled;
  const Tensor leaf = x.points.detach().clone().requires_grad_();
  const Tensor rows = with_labels({leaf, x.labels}, loss);
  const Tensor first = rows.slice(0, 0, n);
  const Tensor value =
      2 * annealed_cost(first, with_labels(y, loss), loss.regularization) -
      annealed_cost(first, rows.slice(0, loss.resampled, n + loss.resampled), loss.regularization);
  value.backward();
  return leaf.grad();
}

Tensor eager_potentials(const Labelled& x, const Labelled& y, double regularization,
                        std::int64_t iterations) {
  const torch::NoGradGuard no_grad;
  const Tensor cost = squared_within_classes(x, y);
  const auto log_counts = [](const Tensor& finite, std::int64_t along) {
    return finite.to(torch::kDouble).sum(along, true).log();
  };
  const Tensor finite = cost.isfinite();
  const Tensor log_m = log_counts(finite, 1).to(cost.scalar_type());
  const Tensor log_n = log_counts(finite, 0).to(cost.scalar_type());
  Tensor f = torch::zeros({x.points.size(0), 1}, cost.options());
  Tensor g = torch::zeros({1, y.points.size(0)}, cost.options());
  for (std::int64_t k = 0; k < iterations; ++k) {
    f = -regularization * (torch::logsumexp((g - cost) / regularization, 1, true) - log_m);
    g = -regularization * (torch::logsumexp((f - cost) / regularization, 0, true) - log_n);
  }
  return f.squeeze(1);
}

Tensor eager_pull(const Labelled& x, const Tensor& potentials, const Labelled& y,
                  double regularization, double clip_norm) {
  const torch::NoGradGuard no_grad;
  const Tensor cost = squared_within_classes(x, y);
  const Tensor shares = torch::softmax((potentials.unsqueeze(1) - cost) / regularization, 0);
  const Tensor distances = cost.masked_fill(cost.isinf(), 0);
  const Tensor norms = (shares.square() * distances).sum(0).sqrt();
  const Tensor weighted = shares * clipped(norms, clip_norm);
  return x.points * weighted.sum(1, true) - torch::mm(weighted, y.points);
}

EagerDpSinkhorn::EagerDpSinkhorn(const Options& options, const data::Dataset& data,
                                 const torch::Device& device)
    : options_(options),
      classes_(data.num_classes()),
      records_(records_of(data, method::lowest_of(options.generator), device)),
      generator_(generator_of(options, data, device)),
      adam_(generator_.parameters(), torch::optim::AdamOptions(options.optimizer.learning_rate)) {
  for (const Tensor& parameter : generator_.parameters())
    average_.push_back(parameter.detach().clone());
}

Labelled EagerDpSinkhorn::draw() const {
  const Tensor chosen = torch::rand({records_.labels.size(0)}, records_.points.options())
                            .lt(options_.sampling_rate)
                            .nonzero()
                            .squeeze(1);
  return {records_.points.index_select(0, chosen), records_.labels.index_select(0, chosen)};
}

Tensor EagerDpSinkhorn::generate(const Tensor& labels) const {
  const std::int64_t latent = options_.generator.latent;
  return generator_
      .train(torch::rand({labels.size(0), latent}, records_.points.options()) * 2 - 1, labels)
      .flatten(1);
}

void EagerDpSinkhorn::step() {
  adam_.zero_grad();
  if (options_.barrier == method::Barrier::kRecord)
    step_record();
  else
    step_rows();
  adam_.step();
  if (options_.method.average == 0) return;
  const torch::NoGradGuard no_grad;
  for (std::size_t k = 0; k < average_.size(); ++k)
    average_[k].lerp_(generator_.parameters()[k], 1 - options_.method.average);
}

void EagerDpSinkhorn::step_rows() {
  const auto& method = options_.method;
  const std::int64_t n = options_.generated_batch;
  EagerLoss loss{.classes = classes_,
                 .label_weight = method.label_weight,
                 .regularization = method.regularization};
  loss.resampled = static_cast<std::int64_t>(method.resample * static_cast<double>(n));
  const Tensor labels = torch::randint(classes_, {n}, records_.labels.options());
  const Tensor all = torch::cat({labels, labels.slice(0, 0, loss.resampled)});
  const Tensor images = generate(all);
  Tensor gradient = eager_gradient({images, all}, draw(), loss);
  const Tensor norms =
      options_.barrier == method::Barrier::kRow ? gradient.norm(2, {1}, true) : gradient.norm();
  gradient = gradient * clipped(norms, method.clip_norm);
  gradient.slice(0, 0, n) += torch::randn_like(gradient.slice(0, 0, n)) *
                             (2 * method.clip_norm * options_.noise_multiplier);
  images.backward(gradient);
}

void EagerDpSinkhorn::step_record() {
  const auto& method = options_.method;
  const std::int64_t n = options_.generated_batch;
  const std::int64_t n2 = method.second_batch;
  const auto balanced = [&](std::int64_t count) {
    return torch::arange(classes_, records_.labels.options()).repeat_interleave(count / classes_);
  };
  const Tensor labels = balanced(n);
  const Tensor labels2 = balanced(n2);
  const Tensor images = generate(labels);
  const Labelled x{images.detach(), labels};
  Tensor second;
  {
    const torch::NoGradGuard no_grad;
    if (!last_second_.defined()) last_second_ = generate(labels2);
    second = generate(labels2);
  }
  const double e = method.regularization;
  const Tensor potentials =
      eager_potentials(x, {last_second_, labels2}, e, method.potential_iterations);
  Tensor pulled = eager_pull(x, potentials, draw(), e, method.clip_norm);
  pulled = pulled + torch::randn_like(pulled) * (method.clip_norm * options_.noise_multiplier);
  const Tensor self = eager_pull(x, potentials, {second, labels2}, e, method.clip_norm);
  last_second_ = second;
  const auto drawn = options_.sampling_rate * static_cast<double>(records_.labels.size(0));
  const Tensor gradient =
      pulled * (static_cast<double>(n) / drawn) -
      self * (method.self_weight * static_cast<double>(n) / static_cast<double>(n2));
  images.backward(gradient / static_cast<double>(n));
}

}  // namespace obol::bench
