// The theorems of the paper, where they can be checked: closed forms between Gaussians, and
// generators in the plane that are trained on noisy points and never see a clean one.
#include <array>
#include <cmath>
#include <functional>
#include <iostream>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "obol/method/ldp_wgan/loss.h"
#include "obol/transport/tensor/problem.h"

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

double least_at(const std::function<double(double)>& value, double low, double high,
                int thirds = 200) {
  for (int k = 0; k < thirds; ++k) {
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
      const double colder =
          least_at([&](double s) { return between_gaussians(s, noisy, noise); }, 1e-6, 4 * noisy);
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
        const double found =
            least_at([&](double g) { return between_gaussians(g * g, clean + noise, 2 * noise); },
                     1e-9, most);
        EXPECT_NEAR(found, most, 1e-6);
        const double bound = std::pow(std::sqrt(clean) - most, 2) / (2 * noise);
        EXPECT_LE(relative_entropy(clean + noise, found * found + noise), bound);
        EXPECT_LE(relative_entropy(found * found + noise, clean + noise), bound);
      }
}

// One number is to be learnt, the standard deviation of N(0, 1), from n records with noise of 0.8.
// Both sides are grids, so that the optimum is known to many digits.
class OneNumber {
 public:
  explicit OneNumber(double sigma) : lambda_(2 * sigma * sigma) {
    normal_ = std::numbers::sqrt2 *
              torch::erfinv((torch::arange(kLatents, torch::kDouble) + 0.5) * (2.0 / kLatents) - 1);
    const double spread = std::sqrt(1 + sigma * sigma);
    edges_ = torch::linspace(-5 * spread, 5 * spread, kBins + 1, torch::kDouble);
    const Tensor below = (1 + torch::erf(edges_ / (spread * std::numbers::sqrt2))) / 2;
    law_ = below.slice(0, 1) - below.slice(0, 0, kBins);
    law_ = law_ / law_.sum();
    best_ = learnt(law_);
  }

  [[nodiscard]] double loss(double theta, const Tensor& weights) const {
    const Tensor middles = (edges_.slice(0, 1) + edges_.slice(0, 0, kBins)) / 2;
    return transport::sinkhorn({.x = (theta * normal_).unsqueeze(1),
                                .y = middles.unsqueeze(1),
                                .cost = {},
                                .b = weights},
                               {.regularization = lambda_, .tolerance = 1e-9})
        .dual;
  }
  [[nodiscard]] double learnt(const Tensor& weights) const {
    return least_at([&](double theta) { return loss(theta, weights); }, 0.2, 2, 26);
  }

  struct Error {
    double excess;    // of the loss on all records there could be
    double distance;  // 2-Wasserstein, of the generated law to the best one
  };
  [[nodiscard]] Error error_of(std::int64_t records) const {
    const Tensor drawn = torch::multinomial(law_, records, /*replacement=*/true);
    const double theta =
        learnt(torch::bincount(drawn, {}, kBins).to(torch::kDouble) / static_cast<double>(records));
    return {loss(theta, law_) - loss(best_, law_), std::abs(theta - best_)};
  }
  [[nodiscard]] double best() const { return best_; }

 private:
  static constexpr std::int64_t kLatents = 60;
  static constexpr std::int64_t kBins = 120;
  double lambda_;
  Tensor normal_;
  Tensor edges_;
  Tensor law_;
  double best_ = 0;
};

// Theorem 2 bounds the excess by a constant over sqrt(n). In a regular problem it is the square of
// an error of that order, and falls faster, as 1/n; the distance falls as 1/sqrt(n).
TEST(Theorem2, TheExcessFallsWithTheNumberOfRecords) {
  torch::manual_seed(1);
  const OneNumber problem(0.8);
  EXPECT_NEAR(problem.best(), 1, 0.02);
  constexpr int kRepetitions = 12;
  std::vector<std::array<double, 3>> logs;  // of n, excess, distance
  for (const std::int64_t n : {100, 400, 1600, 6400}) {
    double excess = 0;
    double squared = 0;
    for (int k = 0; k < kRepetitions; ++k) {
      const auto error = problem.error_of(n);
      EXPECT_GE(error.excess, -1e-7);
      excess += error.excess / kRepetitions;
      squared += error.distance * error.distance / kRepetitions;
    }
    logs.push_back({std::log(static_cast<double>(n)), std::log(excess), std::log(squared) / 2});
  }
  const auto slope = [&](std::size_t which) {
    double of_n = 0;
    double of_value = 0;
    for (const auto& one : logs) {
      of_n += one[0] / 4;
      of_value += one.at(which) / 4;
    }
    double products = 0;
    double squares = 0;
    for (const auto& one : logs) {
      products += (one[0] - of_n) * (one.at(which) - of_value);
      squares += (one[0] - of_n) * (one[0] - of_n);
    }
    return products / squares;
  };
  RecordProperty("excess exponent", std::to_string(slope(1)));
  RecordProperty("distance exponent", std::to_string(slope(2)));
  std::cout << "excess " << slope(1) << ", distance " << slope(2) << std::endl;
  EXPECT_LT(slope(1), -0.7);
  EXPECT_GT(slope(2), -0.65);
  EXPECT_LT(slope(2), -0.35);
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
  torch::nn::Sequential generator(torch::nn::Linear(kLatent, kHidden), torch::nn::ReLU(),
                                  torch::nn::Linear(kHidden, kHidden), torch::nn::ReLU(),
                                  torch::nn::Linear(kHidden, 2));
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
