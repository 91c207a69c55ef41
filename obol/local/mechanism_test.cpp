#include "obol/local/mechanism.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/privacy/accountant.h"
#include "obol/privacy/noise.h"
#include "obol/privacy/noise_testing.h"

namespace obol::local {
namespace {

using privacy::account;

using Values = std::vector<double>;

constexpr data::ImageShape kShape{.channels = 1, .height = 4, .width = 8};

PrivatizeOptions gaussian(double epsilon = 10, double radius = 3) {
  return {.mechanism = Mechanism::kGaussian, .epsilon = epsilon, .delta = 1e-4, .radius = radius};
}

PrivatizeOptions laplace(double epsilon = 10, double radius = 3) {
  return {.mechanism = Mechanism::kLaplace, .epsilon = epsilon, .radius = radius};
}

double norm1(const Values& values) {
  return std::accumulate(values.begin(), values.end(), 0.0,
                         [](double sum, double value) { return sum + std::abs(value); });
}

double norm2(const Values& values) {
  return std::sqrt(std::inner_product(values.begin(), values.end(), values.begin(), 0.0));
}

Values minus(Values a, const Values& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

Values random_values(std::size_t count, double scale, std::uint64_t seed) {
  SeededBits bits(seed);
  Values values(count);
  privacy::fill_gaussian(bits, values);
  for (double& value : values) value *= scale;
  return values;
}

// The amount by which magnitudes shrink, by bisection: slow, and obviously right.
Values slow_project_l1(Values values, double radius) {
  if (norm1(values) <= radius) return values;
  long double low = 0;
  long double high = norm1(values);
  const auto left = [&](long double amount) {
    long double sum = 0;
    for (const double value : values)
      sum += std::max(0.0L, std::abs(static_cast<long double>(value)) - amount);
    return sum;
  };
  for (int i = 0; i < 200; ++i) {
    const long double middle = (low + high) / 2;
    (left(middle) > radius ? low : high) = middle;
  }
  for (double& value : values)
    value = std::copysign(std::max(0.0, std::abs(value) - static_cast<double>(high)), value);
  return values;
}

TEST(ProjectL1, IsTheNearestPointOfTheBall) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    for (const double radius : {1e-6, 0.5, 20.0, 1e4}) {
      const Values before =
          random_values(1 + seed * 3, std::exp(static_cast<double>(seed % 7)), seed);
      Values fast = before;
      project_l1(fast, radius);
      const Values slow = slow_project_l1(before, radius);
      for (std::size_t i = 0; i < fast.size(); ++i)
        EXPECT_NEAR(fast[i], slow[i], 1e-11 * (norm1(before) + radius)) << seed << ' ' << radius;
      EXPECT_LE(norm1(fast), radius);
    }
  }
}

TEST(ProjectL1, LeavesWhatIsInsideAndSharesWhatIsEqual) {
  Values inside = {0.5, -0.25, 0};
  project_l1(inside, 1);
  EXPECT_EQ(inside, (Values{0.5, -0.25, 0}));
  Values equal = {3, -3, 3, 0};
  project_l1(equal, 3);
  for (const double value : {equal[0], -equal[1], equal[2]}) EXPECT_NEAR(value, 1, 1e-12);
  EXPECT_EQ(equal[3], 0);
}

TEST(ProjectL2, KeepsTheDirection) {
  Values values = {3, -4};
  project_l2(values, 1);
  EXPECT_NEAR(values[0], 0.6, 1e-12);
  EXPECT_NEAR(values[1], -0.8, 1e-12);
  EXPECT_LE(norm2(values), 1);
  Values inside = {0.3, -0.4};
  project_l2(inside, 1);
  EXPECT_EQ(inside, (Values{0.3, -0.4}));
}

TEST(CosineTransform, IsItsDefinition) {
  const data::ImageShape shape{.channels = 2, .height = 3, .width = 5};
  const Values image = random_values(30, 1, 3);
  Values fast = image;
  CosineTransform(shape).forward(fast);
  for (std::size_t c = 0; c < 2; ++c) {
    for (std::size_t v = 0; v < 3; ++v) {
      for (std::size_t u = 0; u < 5; ++u) {
        double sum = 0;
        for (std::size_t y = 0; y < 3; ++y)
          for (std::size_t x = 0; x < 5; ++x)
            sum += image[c * 15 + y * 5 + x] *
                   std::cos(std::numbers::pi * (static_cast<double>(y) + 0.5) *
                            static_cast<double>(v) / 3) *
                   std::cos(std::numbers::pi * (static_cast<double>(x) + 0.5) *
                            static_cast<double>(u) / 5);
        const double unit = std::sqrt((v == 0 ? 1.0 : 2.0) / 3 * (u == 0 ? 1.0 : 2.0) / 5);
        EXPECT_NEAR(fast[c * 15 + v * 5 + u], unit * sum, 1e-12);
      }
    }
  }
}

TEST(CosineTransform, KeepsLengthsAndLeadsBack) {
  const data::ImageShape shape{.channels = 3, .height = 28, .width = 20};
  const Values image = random_values(static_cast<std::size_t>(shape.pixels()), 1, 4);
  Values there = image;
  const CosineTransform transform(shape);
  transform.forward(there);
  EXPECT_NEAR(norm2(there), norm2(image), 1e-10);
  transform.inverse(there);
  for (std::size_t i = 0; i < image.size(); ++i) EXPECT_NEAR(there[i], image[i], 1e-12);
}

TEST(KeepLargest, KeepsExactlySoMany) {
  Values values = {1, -5, 2, 5, -2, 0};
  keep_largest(values, 3);
  EXPECT_EQ(values, (Values{0, -5, 2, 5, 0, 0}));  // of the two 2s the first
  Values all = {1, 2};
  keep_largest(all, 2);
  EXPECT_EQ(all, (Values{1, 2}));
  Values zeros(5, 0.0);
  keep_largest(zeros, 1);
  EXPECT_EQ(zeros, Values(5, 0.0));
}

// Over inputs that are as far apart as inputs get, sensible or not.
double largest_distance(const PrivatizeOptions& options, bool in_l1) {
  const Privatizer privatizer(plan(options, kShape, {}));
  const auto size = static_cast<std::size_t>(kShape.pixels());
  std::vector<Values> inputs;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const double scale : {0.1, 1.0, 1e6}) inputs.push_back(random_values(size, scale, seed));
  for (std::size_t i = 0; i < size; ++i) {
    for (const double value : {1.0, -1e9, 1e9}) {
      inputs.emplace_back(size, 0.0);
      inputs.back()[i] = value;
    }
  }
  inputs.emplace_back(size, 0.0);
  inputs.emplace_back(size, 1.0);
  inputs.emplace_back(size, -1.0);
  for (Values& input : inputs) privatizer.project(input);
  double largest = 0;
  for (const Values& a : inputs)
    for (const Values& b : inputs)
      largest = std::max(largest, in_l1 ? norm1(minus(a, b)) : norm2(minus(a, b)));
  return largest;
}

TEST(Sensitivity, IsNeverExceededAndIsReached) {
  const double radius = 3;
  const double root = std::numbers::sqrt2;
  EXPECT_EQ(plan(gaussian(), kShape, {}).sensitivity, root * radius);
  EXPECT_LE(largest_distance(gaussian(), false), root * radius);
  EXPECT_GT(largest_distance(gaussian(), false), root * radius * (1 - 1e-9));
  EXPECT_EQ(plan(laplace(), kShape, {}).sensitivity, 2 * radius);
  EXPECT_LE(largest_distance(laplace(), true), 2 * radius);
  EXPECT_GT(largest_distance(laplace(), true), 2 * radius * (1 - 1e-9));
  for (PrivatizeOptions options : {gaussian(), laplace()}) {
    const bool in_l1 = options.mechanism == Mechanism::kLaplace;
    options.transform = Transform::kDct;
    EXPECT_EQ(plan(options, kShape, {}).sensitivity, 2 * radius);
    EXPECT_LE(largest_distance(options, in_l1), 2 * radius);
    EXPECT_GT(largest_distance(options, in_l1), 2 * radius * (1 - 1e-9));
  }
}

TEST(Privatizer, KeepsTheLargestOfATransformedRecord) {
  PrivatizeOptions options = laplace(10, 1e6);
  options.transform = Transform::kDct;
  const Privatizer privatizer(plan(options, kShape, {}));
  Values record = random_values(static_cast<std::size_t>(kShape.pixels()), 1, 9);
  Values transformed = record;
  CosineTransform(kShape).forward(transformed);
  keep_largest(transformed, 7);  // the next whole number from 0.2 times 32
  privatizer.project(record);
  EXPECT_EQ(record, transformed);
}

// The checks of noise_testing.h: 2^20 numbers, false alarms below 1e-9, and the seed is fixed.
TEST(Privatizer, AddsTheNoiseThatItSays) {
  for (const PrivatizeOptions& options : {gaussian(2, 5), laplace(2, 5)}) {
    const data::ImageShape shape{.channels = 1, .height = 16, .width = 16};
    const Privatization how = plan(options, shape, {});
    const Privatizer privatizer(how);
    SeededBits bits(11);
    Values all;
    for (int i = 0; i < 4096; ++i) {
      Values record(256, 0.0);
      privatizer.add_noise(bits, record);
      for (const double value : record) all.push_back(value / how.scale);
    }
    const bool is_laplace = how.mechanism == Mechanism::kLaplace;
    EXPECT_EQ(privacy::testing::faults_of(
                  all, is_laplace ? privacy::testing::kLaplace : privacy::testing::kNormal),
              std::vector<std::string>{});
  }
}

TEST(Plan, KeepsTheEpsilonThatWasAskedFor) {
  for (const double epsilon : {0.1, 1.0, 35.0, 196.0}) {
    const Privatization how = plan(gaussian(epsilon), kShape, {});
    const double spent = account({how.events.at(0).event}, Delta{1e-4}).epsilon;
    EXPECT_LE(spent, epsilon);
    EXPECT_GT(spent, epsilon * (1 - 1e-6));
    const Privatization pure = plan(laplace(epsilon), kShape, {});
    EXPECT_NEAR(pure.scale, 6 / epsilon, 1e-4 * pure.scale);
    const double pure_spent = account({pure.events.at(0).event}, Delta{0}).epsilon;
    EXPECT_LE(pure_spent, epsilon);
    EXPECT_GT(pure_spent, epsilon * (1 - 1e-6));
  }
}

TEST(Plan, TakesThePapersEpsilonWhereAsked) {
  PrivatizeOptions options = gaussian(35);
  options.counting = Counting::kPublished;
  options.formula = privacy::GaussianFormula::kZhao;
  const Privatization how = plan(options, kShape, {});
  const double multiplier =
      calibrate_gaussian(Epsilon{35}, Delta{1e-4}, privacy::GaussianFormula::kZhao);
  EXPECT_NEAR(how.scale, multiplier * 3, 1e-6 * how.scale);
  EXPECT_GT(account({how.events.at(0).event}, Delta{1e-4}).epsilon, 35);
  const auto published = account_as_published(*published_count(how), 1, Delta{1e-4});
  EXPECT_NEAR(published.epsilon, 35, 1e-5);
  EXPECT_FALSE(published.count.holds);
  PrivatizeOptions pure = laplace(35);
  pure.counting = Counting::kPublished;
  const Privatization twice = plan(pure, kShape, {});
  EXPECT_NEAR(account({twice.events.at(0).event}, Delta{0}).epsilon, 70, 1e-5);
  EXPECT_NEAR(account_as_published(*published_count(twice), 1, Delta{0}).epsilon, 35, 1e-5);
}

TEST(Plan, RefusesWhatCannotBeMeant) {
  const auto refused = [](const PrivatizeOptions& options) {
    EXPECT_THROW(plan(options, kShape, {}), InvalidArgument);
  };
  for (const double bad : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
    refused(gaussian(bad));
    refused(gaussian(1, bad));
    refused(laplace(bad));
    refused(laplace(1, bad));
  }
  PrivatizeOptions options = laplace();
  options.delta = 1e-5;
  refused(options);
  for (const std::optional<double> delta : {std::optional<double>{}, {0.0}, {1.0}, {-1.0}}) {
    options = gaussian();
    options.delta = delta;
    refused(options);
  }
  for (const double keep : {0.0, 1.5, -0.1, std::nan("")}) {
    options = laplace();
    options.transform = Transform::kDct;
    options.keep = keep;
    refused(options);
  }
  options = laplace();
  options.keep = 0.5;
  refused(options);
  options = gaussian();
  options.label_epsilon = 0;
  EXPECT_THROW(plan(options, kShape, {"a", "b"}), InvalidArgument);
  for (const double beyond : {45.0, 750.0, 1e300}) {
    options.label_epsilon = beyond;
    EXPECT_THROW(plan(options, kShape, {"a", "b"}), InvalidArgument) << beyond;
  }
  options.label_epsilon = 1;
  EXPECT_THROW(plan(options, kShape, {"a"}), DataError);
}

// Each count is off by six standard deviations with probability below 3e-9; the seed is fixed.
TEST(Respond, GivesEachAnswerAsOftenAsItSays) {
  constexpr int kDraws = 200'000;
  const privacy::LocalRandomizedResponse response{.epsilon = 1.5, .classes = 10, .count = 1};
  SeededBits bits(5);
  std::vector<int> counts(10);
  for (int i = 0; i < kDraws; ++i)
    ++counts.at(static_cast<std::size_t>(respond(bits, 3, response)));
  const double total = std::exp(1.5) + 9;
  for (std::size_t k = 0; k < 10; ++k) {
    const double share = (k == 3 ? std::exp(1.5) : 1.0) / total;
    EXPECT_NEAR(counts[k], kDraws * share, 6 * std::sqrt(kDraws * share * (1 - share))) << k;
  }
}

// Random bits of which none is set.
class NoBits final : public RandomBits {
 public:
  result_type operator()() override { return 0; }
  void fill(std::span<std::uint64_t> words) override { std::ranges::fill(words, 0); }
  [[nodiscard]] bool is_private() const noexcept override { return false; }
  [[nodiscard]] std::string provenance() const override { return "not private: zeros"; }
};

// Else it would have no epsilon at all; e^epsilon is infinite from 710 on.
TEST(Respond, MayLieAtEveryEpsilon) {
  NoBits bits;
  for (const double epsilon : {1.0, 44.0, 300.0, 750.0, 1e300})
    EXPECT_EQ(respond(bits, 1, {.epsilon = epsilon, .classes = 2, .count = 1}), 0) << epsilon;
}

TEST(Respond, IsTheTruthWhereEpsilonIsVast) {
  SeededBits bits(5);
  for (const std::int32_t answer : {0, 1})
    EXPECT_EQ(respond(bits, answer, {.epsilon = 800, .classes = 2, .count = 1}), answer);
}

}  // namespace
}  // namespace obol::local
