#include "obol/privacy/pld.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/privacy/gaussian.h"
#include "obol/privacy/rdp.h"

namespace obol::privacy {
namespace {

double tolerance_at(double epsilon) { return std::max(1e-3, 5e-4 * epsilon); }

EpsilonBounds bounds_of(const std::vector<Event>& events, double delta, int group_size = 1) {
  PldAccountant accountant(group_size);
  for (const Event& event : events) accountant.compose(event);
  return accountant.epsilon(Delta{delta});
}

SampledGaussian sampled(double rate, double sigma, std::int64_t count) {
  return {.sampling_rate = rate, .noise_multiplier = sigma, .count = count};
}

// The truth lies between the bounds, up to what is known of it, and they are close together.
void expect_encloses(const EpsilonBounds& bounds, double truth, double known_to) {
  EXPECT_LE(bounds.lower, truth + known_to);
  EXPECT_GE(bounds.upper, truth - known_to);
  EXPECT_LE(bounds.upper, truth + known_to + tolerance_at(truth));
  EXPECT_LE(bounds.upper - bounds.lower, tolerance_at(truth));
}

// Computed independently, by two other methods or more.
TEST(PldAccountant, KnowsPublishedCases) {
  expect_encloses(bounds_of({sampled(0.01, 0.8, 2000)}, 1e-5), 4.293436288570084, 1e-8);
  expect_encloses(bounds_of({sampled(1.0 / 1200, 1.5, 8'000'000)}, 1e-5), 8.572734707647003, 1e-8);
  expect_encloses(bounds_of({sampled(1, 5, 100)}, 1e-5), 9.997256146434301, 1e-8);
  expect_encloses(bounds_of({sampled(1.0 / 1200, 1.5 / std::sqrt(50), 160'000)}, 1e-5), 844.31,
                  0.01);
}

TEST(PldAccountant, KnowsPublishedCasesOfShards) {
  const auto shards = [](double sigma) {
    return bounds_of(
        {ShardGaussian{.sampling_rate = 1e-3, .noise_multiplier = sigma, .count = 20'000}}, 1e-5);
  };
  expect_encloses(shards(0.5), 7.364, 6e-4);
  expect_encloses(shards(1.07 / std::sqrt(32)), 346.66, 0.01);
  expect_encloses(shards(1.07), 0.7874, 1e-4);
}

// What is below is another computation of delta, from the definition: one release in closed form,
// the others by integrating over their outcomes. Slow, and obviously right.
struct SlowPair {
  std::function<double(double)> delta;  // of one release, at any epsilon, negative ones too
  std::vector<std::pair<double, double>> outcomes;  // losses and masses of one release
};

double slow_delta(const SlowPair& pair, int count, double epsilon) {
  if (count == 1) return pair.delta(epsilon);
  double sum = 0;
  for (const auto& [loss, mass] : pair.outcomes)
    sum += mass * slow_delta(pair, count - 1, epsilon - loss);
  return sum;
}

double slow_epsilon(const std::vector<SlowPair>& directions, int count, double delta) {
  double low = 0;
  double high = 100;
  for (int i = 0; i < 36; ++i) {
    const double middle = (low + high) / 2;
    const bool is_enough =
        std::all_of(directions.begin(), directions.end(),
                    [&](const SlowPair& pair) { return slow_delta(pair, count, middle) <= delta; });
    (is_enough ? high : low) = middle;
  }
  return high;
}

double above(double x) { return std::erfc(x / std::sqrt(2.0)) / 2; }

std::vector<SlowPair> slow_gaussian(double q, double sigma, int points) {
  const auto loss = [=](double x) {
    return std::log1p(q * std::expm1((2 * x - 1) / (2 * sigma * sigma)));
  };
  const auto place = [=](double epsilon) {  // where the loss is epsilon
    const double odds = 1 + std::expm1(epsilon) / q;
    return odds <= 0 ? -1e9 : 0.5 + sigma * sigma * std::log(odds);
  };
  SlowPair remove;
  SlowPair add;
  remove.delta = [=](double epsilon) {
    const double x = place(epsilon);
    const double rest = above(x / sigma);
    return (1 - q) * rest + q * above((x - 1) / sigma) - std::exp(epsilon) * rest;
  };
  add.delta = [=](double epsilon) {
    const double x = place(-epsilon);
    const double rest = above(-x / sigma);
    return rest - std::exp(epsilon) * ((1 - q) * rest + q * above((1 - x) / sigma));
  };
  // The trapezoidal rule, which converges geometrically for such functions.
  const double low = -10 * sigma;
  const double step = (1 + 20 * sigma) / points;
  for (int i = 0; i <= points; ++i) {
    const double x = low + step * i;
    const double mass =
        step * std::exp(-x * x / (2 * sigma * sigma)) / (sigma * std::sqrt(2 * M_PI));
    remove.outcomes.emplace_back(loss(x), mass * std::exp(loss(x)));
    add.outcomes.emplace_back(-loss(x), mass);
  }
  return {remove, add};
}

std::vector<SlowPair> slow_laplace(double scale, int points) {
  SlowPair pair;
  const double top = 1 / scale;
  // Of two Laplace distributions at distance 1: atoms at losses of -top and top, an exponential
  // density in between.
  pair.delta = [=](double epsilon) {
    if (epsilon >= top) return 0.0;
    if (epsilon <= -top) return -std::expm1(epsilon);
    return -std::expm1((epsilon - top) / 2);
  };
  pair.outcomes.emplace_back(top, 0.5);
  pair.outcomes.emplace_back(-top, std::exp(-top) / 2);
  for (int i = 0; i < points; ++i) {
    const double x = (i + 0.5) / points;
    pair.outcomes.emplace_back((2 * x - 1) / scale,
                               std::exp(-(1 - x) / scale) / (2 * scale) / points);
  }
  return {pair};
}

TEST(PldAccountant, EnclosesTwoSampledReleases) {
  for (const double q : {1e-4, 0.03, 0.5, 0.97})
    for (const double sigma : {0.5, 4.0})
      for (const double delta : {1e-8, 1e-3}) {
        SCOPED_TRACE(::testing::Message() << q << ", " << sigma << ", " << delta);
        const double truth = slow_epsilon(slow_gaussian(q, sigma, 30'000), 2, delta);
        expect_encloses(bounds_of({sampled(q, sigma, 2)}, delta), truth, 3e-6);
      }
}

TEST(PldAccountant, EnclosesThreeSampledReleases) {
  const double truth = slow_epsilon(slow_gaussian(0.1, 1.2, 220), 3, 1e-5);
  expect_encloses(bounds_of({sampled(0.1, 1.2, 3)}, 1e-5), truth, 1e-7);
}

TEST(PldAccountant, EnclosesCompositionsOfLaplaceNoise) {
  for (const double scale : {0.1, 0.7, 3.0, 50.0}) {
    for (const double delta : {1e-8, 1e-3, 0.05}) {
      SCOPED_TRACE(::testing::Message() << scale << ", " << delta);
      const auto releases = [&](std::int64_t count) {
        return bounds_of({Laplace{.scale = scale, .count = count}}, delta);
      };
      const auto pair = slow_laplace(scale, 200'000);
      expect_encloses(releases(1), slow_epsilon(pair, 1, delta), 1e-8);
      // Where all of delta lies in atoms the lower bound is not sharp.
      const double truth = slow_epsilon(pair, 2, delta);
      EXPECT_LE(releases(2).lower, truth + 1e-5);
      EXPECT_GE(releases(2).upper, truth - 1e-5);
      EXPECT_LE(releases(2).upper, truth + 1e-5 + tolerance_at(truth));
    }
  }
}

// One release with a pure guarantee of 1000, in whose tail a double holds nothing; and many.
TEST(PldAccountant, BoundsLaplaceNoiseOfTinyScale) {
  const EpsilonBounds one = bounds_of({Laplace{.scale = 1e-3, .count = 1}}, 1e-5);
  EXPECT_GE(one.upper, 1000 + 2 * std::log1p(-1e-5) - 1e-9);
  EXPECT_LE(one.upper, 1000 * (1 + 1e-3));
  // All ten at their largest loss have a probability of 2^-10.
  const EpsilonBounds ten = bounds_of({Laplace{.scale = 1e-3, .count = 10}}, 1e-5);
  EXPECT_GE(ten.upper, 10'000 - 0.1);
  EXPECT_LE(ten.upper, 10'000 * (1 + 1e-3));
}

TEST(PldAccountant, IsExactForGaussians) {
  for (const double sigma : {0.05, 1.0, 1000.0}) {
    const EpsilonBounds bounds =
        bounds_of({Gaussian{.noise_multiplier = sigma, .count = 7},
                   LocalGaussian{.noise_multiplier = 3 * sigma, .count = 18}},
                  1e-6);
    expect_encloses(bounds, gaussian_epsilon(sigma / 3, Delta{1e-6}).value(), 1e-9);
  }
}

TEST(PldAccountant, TendsToGaussiansAsTheRateTendsToOne) {
  const EpsilonBounds all = bounds_of({sampled(1, 2, 40)}, 1e-6);
  const EpsilonBounds nearly = bounds_of({sampled(1 - 1e-12, 2, 40)}, 1e-6);
  EXPECT_NEAR(nearly.upper, all.upper, 1e-3);
  EXPECT_LE(nearly.lower, all.upper);
}

TEST(PldAccountant, DoesNotMindHowEventsAreSplit) {
  const EpsilonBounds whole = bounds_of({sampled(0.02, 1.1, 600)}, 1e-6);
  // Different enough in the last digit to stay apart.
  const EpsilonBounds split =
      bounds_of({sampled(0.02, 1.1, 300), sampled(0.02, 1.1 * (1 + 1e-15), 300)}, 1e-6);
  EXPECT_NEAR(whole.upper, split.upper, 4e-4);
  EXPECT_LE(whole.lower, split.upper);
  EXPECT_LE(split.lower, whole.upper);
  EXPECT_EQ(bounds_of({sampled(0.02, 1.1, 250), sampled(0.02, 1.1, 350)}, 1e-6).upper, whole.upper);
}

TEST(PldAccountant, ComposesDifferentMechanisms) {
  const EpsilonBounds mixed =
      bounds_of({sampled(0.02, 1, 500), Gaussian{4, 3},
                 SampledLaplace{.sampling_rate = 0.1, .scale = 3, .count = 20},
                 Laplace{.scale = 10, .count = 5}},
                1e-6);
  EXPECT_LE(mixed.upper - mixed.lower, 1e-3);
  EXPECT_GT(mixed.lower, bounds_of({sampled(0.02, 1, 500), Gaussian{4, 3}}, 1e-6).upper);
  EXPECT_LT(mixed.upper, bounds_of({sampled(0.02, 1, 500), Gaussian{4, 3}}, 1e-6).upper +
                             20 * std::log1p(0.1 * std::expm1(1.0 / 3)) + 0.5);
}

TEST(PldAccountant, CostsMoreForMoreReleasesHigherRatesLessNoiseAndSmallerDelta) {
  const double slack = 1e-9;
  double before = 0;
  for (const std::int64_t count : {1, 2, 3, 10, 100, 999, 1001, 20'000}) {
    const EpsilonBounds bounds = bounds_of({sampled(0.01, 1, count)}, 1e-6);
    EXPECT_GE(bounds.upper, before - slack) << count;
    before = bounds.lower;
  }
  before = 0;
  for (const double rate : {1e-5, 1e-3, 0.01, 0.3, 0.99, 1.0}) {
    const EpsilonBounds bounds = bounds_of({sampled(rate, 1, 100)}, 1e-6);
    EXPECT_GE(bounds.upper, before - slack) << rate;
    before = bounds.lower;
  }
  before = 0;
  for (const double sigma : {100.0, 5.0, 1.0, 0.5, 0.1}) {
    const EpsilonBounds bounds = bounds_of({sampled(0.01, sigma, 100)}, 1e-6);
    EXPECT_GE(bounds.upper, before - slack) << sigma;
    before = bounds.lower;
  }
  before = 0;
  for (const double delta : {0.1, 1e-3, 1e-5, 1e-8, 1e-12}) {
    const EpsilonBounds bounds = bounds_of({sampled(0.01, 1, 100)}, delta);
    EXPECT_GE(bounds.upper, before - slack) << delta;
    before = bounds.lower;
  }
}

TEST(PldAccountant, IsNoWorseThanTheRenyiAccountant) {
  for (const Event& event : std::vector<Event>{sampled(0.01, 0.8, 2000), sampled(0.5, 3, 40),
                                               sampled(1e-3, 0.5, 10), Laplace{2, 30}}) {
    PldAccountant pld;
    RdpAccountant rdp;
    pld.compose(event);
    rdp.compose(event);
    EXPECT_LE(pld.epsilon(Delta{1e-6}).upper, rdp.epsilon(Delta{1e-6}).epsilon) << describe(event);
  }
}

TEST(PldAccountant, GivesTheDeltaThatBelongsToItsEpsilon) {
  for (const Event& event : std::vector<Event>{sampled(0.01, 0.8, 2000), sampled(0.3, 2, 1),
                                               sampled(1, 3, 10), Laplace{1, 12}}) {
    PldAccountant accountant;
    accountant.compose(event);
    for (const double delta : {1e-8, 1e-4}) {
      const EpsilonBounds bounds = accountant.epsilon(Delta{delta});
      EXPECT_LE(accountant.delta(Epsilon{bounds.upper}), delta * 1.01) << describe(event);
      EXPECT_GE(accountant.delta(Epsilon{bounds.lower}), delta * 0.999) << describe(event);
    }
  }
}

TEST(PldAccountant, CostsNothingForNothing) {
  EXPECT_EQ(PldAccountant().epsilon(Delta{1e-5}).upper, 0);
  EXPECT_EQ(bounds_of({sampled(0.1, 1, 0)}, 1e-5).upper, 0);
  EXPECT_EQ(PldAccountant().delta(Epsilon{0.1}), 0);
  // A delta that the total variation distance does not reach.
  EXPECT_LE(bounds_of({sampled(1e-3, 1, 1)}, 0.01).upper, 1e-3);
  EXPECT_LE(bounds_of({sampled(1e-3, 10, 50)}, 0.1).upper, 1e-3);
}

TEST(PldAccountant, BoundsGroups) {
  // Without sampling k records are one of k times the sensitivity.
  expect_encloses(bounds_of({Gaussian{2, 9}}, 1e-6, 2), bounds_of({Gaussian{1, 9}}, 1e-6).upper,
                  1e-8);
  const auto groups = [](int size) { return bounds_of({sampled(0.01, 1, 200)}, 1e-6, size); };
  const EpsilonBounds one = groups(1);
  const EpsilonBounds three = groups(3);
  EXPECT_GT(three.lower, one.upper);
  EXPECT_LE(three.upper - three.lower, 1e-3);
  // One after the other: k epsilon, at a delta of e^{(k-1) epsilon} k times as large.
  const double generic = 3 * bounds_of({sampled(0.01, 1, 200)}, 1e-6 / 3 * std::exp(-20)).upper;
  EXPECT_LT(three.upper, generic);
  // Together they are never more than all of them in every batch.
  EXPECT_LT(three.upper, bounds_of({Gaussian{1.0 / 3, 200}}, 1e-6).upper);
}

TEST(PldAccountant, AddsPureGuaranteesAtDeltaZero) {
  const std::vector<Event> events = {LocalLaplace{.scale = 0.5, .count = 3},
                                     LocalRandomizedResponse{1.5, 10, 2}};
  expect_encloses(bounds_of(events, 0), 9, 1e-9);
  expect_encloses(bounds_of({SampledLaplace{0.1, 1, 1}}, 0), std::log1p(0.1 * std::expm1(1)), 1e-9);
  expect_encloses(bounds_of({LocalRandomizedResponse{1.5, 10, 1}}, 0, 3), 4.5, 1e-9);
}

// Of randomised response and one Gaussian release, by summing over the answers.
double delta_with_gaussian(double response, double classes, double sigma, double epsilon) {
  const double likely = std::exp(response) / (std::exp(response) + classes - 1);
  const double unlikely = likely * std::exp(-response);
  const auto gaussian = [&](double at) {
    if (at >= 0) return gaussian_delta(sigma, Epsilon{at});
    return 1 - std::exp(at) + std::exp(at) * gaussian_delta(sigma, Epsilon{-at});
  };
  return likely * gaussian(epsilon - response) + unlikely * gaussian(epsilon + response) +
         (1 - likely - unlikely) * gaussian(epsilon);
}

TEST(PldAccountant, EnclosesRandomizedResponseBesideGaussianNoise) {
  for (const double response : {0.3, 2.0, 8.0}) {
    for (const std::int64_t classes : {2, 10}) {
      const double sigma = 1.3;
      double low = 0;
      double high = 100;
      while (high - low > 1e-10) {
        const double middle = (low + high) / 2;
        const bool is_above =
            delta_with_gaussian(response, static_cast<double>(classes), sigma, middle) > 1e-5;
        (is_above ? low : high) = middle;
      }
      expect_encloses(
          bounds_of({LocalGaussian{sigma, 1}, LocalRandomizedResponse{response, classes, 1}}, 1e-5),
          high, 1e-6);
    }
  }
}

TEST(PldAccountant, KnowsOneRandomizedResponse) {
  // delta = (e^1.5 - e^epsilon) / (e^1.5 + 9), solved for epsilon.
  const double truth = std::log(std::exp(1.5) - 0.01 * (std::exp(1.5) + 9));
  expect_encloses(bounds_of({LocalRandomizedResponse{1.5, 10, 1}}, 0.01), truth, 1e-9);
}

TEST(PldAccountant, RefusesWhatItCannotBound) {
  EXPECT_THROW(PldAccountant(0), InvalidArgument);
  EXPECT_THROW(bounds_of({Gaussian{1, 1}}, 0), InvalidArgument);
  EXPECT_THROW(bounds_of({Laplace{1, 1}, sampled(0.1, 1, 1)}, 0), InvalidArgument);
  EXPECT_THROW(bounds_of({FixedBatchGaussian{0.1, 1, 1}}, 1e-5), UnsupportedEvent);
  EXPECT_THROW(bounds_of({sampled(0.1, 1, 1), ShardGaussian{0.1, 1, 1}}, 1e-5), UnsupportedEvent);
  EXPECT_THROW(bounds_of({ShardGaussian{0.1, 1, 1}}, 1e-5, 2), UnsupportedEvent);
  EXPECT_THROW(bounds_of({SampledLaplace{0.1, 1, 1}}, 1e-5, 2), UnsupportedEvent);
}

TEST(PldAccountant, RefusesNoiseThatProtectsNobody) {
  EXPECT_THROW(bounds_of({sampled(0.5, 1e-5, 3)}, 1e-6), UnsupportedEvent);
  EXPECT_THROW(bounds_of({sampled(0.5, 0.02, 3)}, 1e-6, 3), UnsupportedEvent);
  EXPECT_THROW(bounds_of({Laplace{1e-8, 2}}, 1e-6), UnsupportedEvent);
}

}  // namespace
}  // namespace obol::privacy
