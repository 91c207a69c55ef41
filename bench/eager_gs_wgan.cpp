#include "bench/eager_gs_wgan.h"

#include <utility>

namespace obol::bench {
namespace {

using torch::Tensor;

Tensor unit(const Tensor& vector) { return vector / vector.norm().clamp_min(1e-12); }

torch::optim::AdamOptions adam() { return torch::optim::AdamOptions(1e-4).betas({0.5, 0.9}); }

}  // namespace

EagerCritic::EagerCritic(const model::Critic& like, const model::CriticState& state) {
  // Behind the weights and their two moments: of every matrix, its left and its right vector.
  std::int64_t at = 3 * like.parameters();
  const auto take = [&](std::int64_t count) {
    at += count;
    return state.numbers.narrow(0, at - count, count).clone();
  };
  for (const auto& [name, value] : like.parts(like.weights(state))) {
    leaves_[name] = value.detach().clone().requires_grad_();
    if (value.dim() == 1) continue;
    const Tensor left = take(value.size(0));
    vectors_[name] = {left, take(value.numel() / value.size(0))};
  }
}

void EagerCritic::iterate() {
  const torch::NoGradGuard no_grad;
  for (auto& [name, vectors] : vectors_) {
    const Tensor matrix = leaves_.at(name).flatten(1);
    vectors.right = unit(at::mv(matrix.t(), vectors.left));
    vectors.left = unit(at::mv(matrix, vectors.right));
  }
}

Tensor EagerCritic::normalised(const std::string& name) const {
  const Tensor& weight = leaves_.at(name);
  const Vectors& vectors = vectors_.at(name);
  return weight / at::dot(vectors.left, at::mv(weight.flatten(1), vectors.right));
}

Tensor EagerCritic::scores(const Tensor& images, const Tensor& labels) const {
  Tensor x = images;
  for (const std::string name : {"conv1", "conv2", "conv3"})
    x = at::leaky_relu(
        at::conv2d(x, normalised(name + ".weight"), leaves_.at(name + ".bias"), 2, 2), 0.2);
  x = x.flatten(1);
  const Tensor result = at::linear(x, normalised("last.weight"), leaves_.at("last.bias"));
  return result.squeeze(1) + (normalised("labels.weight").index_select(0, labels) * x).sum(1);
}

Tensor EagerCritic::loss(const model::CriticBatch& batch,
                         const model::CriticTraining& training) const {
  const Tensor mixed =
      (batch.mix * batch.real + (1 - batch.mix) * batch.fake).detach().requires_grad_();
  const Tensor gradient =
      torch::autograd::grad({scores(mixed, batch.real_labels).sum()}, {mixed}, {}, true, true)[0];
  const Tensor real = scores(batch.real, batch.real_labels);
  return scores(batch.fake, batch.fake_labels).mean() - real.mean() +
         training.drift_penalty * real.square().mean() +
         training.gradient_penalty * (gradient.flatten(1).norm(2, 1) - 1).square().mean();
}

std::vector<Tensor> EagerCritic::parameters() const {
  std::vector<Tensor> all;
  for (const auto& [name, leaf] : leaves_) all.push_back(leaf);
  return all;
}

EagerGsWgan::EagerGsWgan(EagerCritic critic, EagerGenerator generator, Tensor real,
                         const Size& size)
    : critic_(std::move(critic)),
      generator_(std::move(generator)),
      real_(std::move(real)),
      size_(size),
      of_critic_(critic_.parameters(), adam()),
      of_generator_(generator_.parameters(), adam()) {}

void EagerGsWgan::step(std::int64_t latent, std::int64_t classes) {
  const std::int64_t n = size_.batch;
  const auto integers = real_.options().dtype(torch::kLong);
  const auto generate = [&](const Tensor& labels) {
    return generator_.train(torch::rand({n, latent}, real_.options()) * 2 - 1, labels);
  };
  for (std::int64_t k = 0; k < size_.critic_steps; ++k) {
    const Tensor labels = torch::randint(classes, {n}, integers);
    const Tensor chosen = torch::randint(real_.size(0), {n}, integers);
    critic_.iterate();
    const Tensor loss = critic_.loss({.real = real_.index_select(0, chosen),
                                      .real_labels = chosen.remainder(classes),
                                      .fake = generate(labels).detach(),
                                      .fake_labels = labels,
                                      .mix = torch::rand({n, 1, 1, 1}, real_.options())},
                                     {});
    of_critic_.zero_grad();
    loss.backward();
    of_critic_.step();
  }
  const Tensor labels = torch::randint(classes, {n}, integers);
  const Tensor images = generate(labels);
  const Tensor seen = images.detach().requires_grad_();
  const Tensor gradient = torch::autograd::grad({-critic_.scores(seen, labels).sum()}, {seen})[0];
  const Tensor noisy = gradient + 2.14 * torch::randn_like(gradient);
  of_generator_.zero_grad();
  images.backward(noisy / static_cast<double>(n));
  of_generator_.step();
}

}  // namespace obol::bench
