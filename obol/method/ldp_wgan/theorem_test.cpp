// The theorems of the paper, where they can be checked: closed forms between Gaussians, and
// generators in the plane that are trained on noisy points and never see a clean one.
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "obol/method/ldp_wgan/loss.h"

namespace obol::method::ldp_wgan {
namespace {

using local::Mechanism;
using torch::Tensor;

// W(N(0, s), N(0, t)) on the line at temperature lambda, squared cost, s and t being variances.
// With a coupling of covariance c the objective is s + t - 2 c - lambda/2 log(1 - c^2/(s t)), least
// where 2 (s t - c^2) = lambda c.
double between_gaussians(double s, double t, double lambda) {
  const double c = (-lambda + std::sqrt(lambda * lambda + 16 * s * t)) / 4;
  return s + t - 2 * c - lambda / 2 * std::log1p(-c * c / (s * t));
}

// KL(N(0, s) || N(0, t)).
double relative_entropy(double s, double t) { return (s / t - 1 - std::log(s / t)) / 2; }

double least_at(const std::function<double(double)>& value, double low, double high) {
  for (int k = 0; k < 200; ++k) {
    const double a = low + (high - low) / 3;
    const double b = high - (high - low) / 3;
    if (value(a) < value(b))
      high = b;
    else
      low = a;
  }
  return (low + high) / 2;
}

TEST(Theorem1, OneGaussianIsRecoveredInClosedForm) {
  for (const double clean : {0.3, 1.0, 5.0})
    for (const double noise : {0.2, 1.0, 4.0}) {
      const double noisy = clean + noise;
      const double found = least_at(
          [&](double s) { return between_gaussians(s, noisy, 2 * noise); }, 1e-6, 4 * noisy);
      EXPECT_NEAR(found, clean, 1e-5 * clean);
      // Half the temperature leaves noise in.
      const double colder = least_at(
          [&](double s) { return between_gaussians(s, noisy, noise); }, 1e-6, 4 * noisy);
      EXPECT_GT(colder, clean + 0.4 * noise);
    }
}

// The same, by this library: N(0, 1) noisy by 1 on a grid, against grids of other variances.
TEST(Theorem1, TheLossOfTheLibraryIsThatOfTheClosedForm) {
  constexpr std::int64_t kPoints = 400;
  const Tensor u = (torch::arange(kPoints, torch::kDouble) + 0.5) / static_cast<double>(kPoints);
  const Tensor normal = std::numbers::sqrt2 * torch::erfinv(2 * u - 1);
  const Loss loss = matched(Mechanism::kGaussian, 1);
  for (const double variance : {0.5, 1.0, 1.5}) {
    const Tensor x = (normal * std::sqrt(variance)).unsqueeze(1);
    const Tensor y = (normal * std::sqrt(2.0)).unsqueeze(1);
    EXPECT_NEAR(pull_to({.x = x, .y = y}, loss).value, between_gaussians(variance, 2, 2), 0.03);
  }
}

// A class too small to have the records' law: standard deviations up to `most`. The bound is that
// of the theorem over lambda, without which it would depend on the unit of length.
TEST(Theorem1, SmoothedRelativeEntropyStaysBelowTheBound) {
  for (const double clean : {0.5, 1.0, 9.0})
    for (const double noise : {0.25, 1.0, 4.0})
      for (const double share : {0.0001, 0.3, 0.7, 0.95}) {
        const double most = share * std::sqrt(clean);
        const double found = least_at(
            [&](double g) { return between_gaussians(g * g, clean + noise, 2 * noise); }, 1e-9,
            most);
        EXPECT_NEAR(found, most, 1e-6);
        const double bound = std::pow(std::sqrt(clean) - most, 2) / (2 * noise);
        EXPECT_LE(relative_entropy(clean + noise, found * found + noise), bound);
        EXPECT_LE(relative_entropy(found * found + noise, clean + noise), bound);
      }
}

// Three modes in the plane.
struct Plane {
  Tensor means = torch::tensor({{0.0, 2.0}, {-2.0, -1.0}, {2.0, -1.0}});
  double spread = 0.3;

  [[nodiscard]] Tensor sample(std::int64_t count) const {
    return means.index_select(0, torch::randint(3, {count})) + spread * torch::randn({count, 2});
  }
};

Tensor covariance(const Tensor& points) {
  const Tensor centred = points - points.mean(0);
  return centred.t().mm(centred) / static_cast<double>(points.size(0));
}

double relative_difference(const Tensor& found, const Tensor& wanted) {
  return ((found - wanted).norm() / wanted.norm()).item<double>();
}

struct Trained {
  Tensor covariance;  // [2, 2]
  Tensor modes;       // [3, 2]: means of the thirds of the plane that belong to the modes
};

// A perceptron from normal latents to the plane, trained on `noisy` alone.
Trained train(const Tensor& noisy, const Loss& loss, const Plane& plane) {
  constexpr std::int64_t kHidden = 64;
  constexpr std::int64_t kLatent = 4;
  constexpr std::int64_t kBatch = 256;
  constexpr int kSteps = 1200;
  torch::nn::Sequential generator(
      torch::nn::Linear(kLatent, kHidden), torch::nn::ReLU(), torch::nn::Linear(kHidden, kHidden),
      torch::nn::ReLU(), torch::nn::Linear(kHidden, 2));
  torch::optim::Adam optimizer(generator->parameters(), torch::optim::AdamOptions(3e-3));
  for (int step = 0; step < kSteps; ++step) {
    for (auto& group : optimizer.param_groups())
      static_cast<torch::optim::AdamOptions&>(group.options())
          .lr(3e-3 * (1 + std::cos(std::numbers::pi * step / kSteps)) / 2);
    const Tensor points = generator->forward(torch::randn({kBatch, kLatent}));
    const Tensor batch = noisy.index_select(0, torch::randint(noisy.size(0), {kBatch}));
    optimizer.zero_grad();
    points.backward(pull_to({.x = points, .y = batch}, loss).gradient);
    optimizer.step();
  }
  const torch::NoGradGuard no_grad;
  const Tensor made = generator->forward(torch::randn({20000, kLatent}));
  const Tensor nearest = torch::cdist(made, plane.means).argmin(1);
  std::vector<Tensor> modes;
  for (std::int64_t k = 0; k < 3; ++k)
    modes.push_back(made.index_select(0, nearest.eq(k).nonzero().flatten()).mean(0));
  return {covariance(made), torch::stack(modes)};
}

TEST(Theorem1, AGeneratorLearnsWhatWasThereBeforeGaussianNoise) {
  torch::manual_seed(1);
  const Plane plane;
  const Tensor clean = plane.sample(20000);
  const double sigma = 1;
  const Tensor noisy = clean + sigma * torch::randn_like(clean);
  Loss loss = matched(Mechanism::kGaussian, sigma);
  loss.iterations = 50;
  const Trained found = train(noisy, loss, plane);
  EXPECT_LT(relative_difference(found.covariance, covariance(clean)), 0.1);
  EXPECT_LT((found.modes - plane.means).norm(2, 1).max().item<double>(), 0.35);
  EXPECT_GT(relative_difference(covariance(noisy), covariance(clean)), 0.3);
}

TEST(Theorem1, WithoutRegularizationItLearnsTheNoise) {
  torch::manual_seed(1);
  const Plane plane;
  const Tensor clean = plane.sample(20000);
  const Tensor noisy = clean + torch::randn_like(clean);
  Loss loss = matched(Mechanism::kGaussian, 1);
  loss.kind = LossKind::kWasserstein;
  const Trained found = train(noisy, loss, plane);
  EXPECT_LT(relative_difference(found.covariance, covariance(noisy)), 0.1);
  EXPECT_GT(relative_difference(found.covariance, covariance(clean)), 0.25);
}

TEST(Theorem1, AGeneratorLearnsWhatWasThereBeforeLaplaceNoise) {
  torch::manual_seed(1);
  const Plane plane;
  const Tensor clean = plane.sample(20000);
  const double scale = 0.7;
  const Tensor u = torch::rand_like(clean) - 0.5;
  const Tensor noisy = clean - scale * u.sign() * (1 - 2 * u.abs()).log();
  Loss loss = matched(Mechanism::kLaplace, scale);
  loss.iterations = 50;
  const Trained found = train(noisy, loss, plane);
  EXPECT_LT(relative_difference(found.covariance, covariance(clean)), 0.1);
  EXPECT_LT((found.modes - plane.means).norm(2, 1).max().item<double>(), 0.35);
}

}  // namespace
}  // namespace obol::method::ldp_wgan
