#include "obol/barrier/barrier.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "obol/barrier/testing.h"
#include "obol/base/error.h"
#include "obol/data/sampler.h"

namespace obol::barrier {
namespace {

using torch::Tensor;

using testing::drawn;

class Barriers : public testing::BarrierTest {};

Sample random_sample(const std::vector<std::int64_t>& counts, std::int64_t dimension,
                     double spread = 3) {
  std::int64_t total = 0;
  for (const std::int64_t count : counts) total += count;
  return {torch::randn({total, dimension}) * spread, counts};
}

Rows random_rows(std::int64_t classes, std::int64_t of_class, std::int64_t dimension) {
  return {torch::randn({classes * of_class, dimension}), torch::randn({classes * of_class}) * 2,
          classes};
}

// The sample without record k, which is of class c.
Sample without(const Sample& sample, std::int64_t record) {
  Sample rest = sample;
  std::int64_t end = 0;
  for (std::int64_t& count : rest.class_counts) {
    end += count;
    if (record < end) {
      --count;
      break;
    }
  }
  rest.points = torch::cat({sample.points.slice(0, 0, record), sample.points.slice(0, record + 1)});
  return rest;
}

// So little noise that what is released is what was computed.
constexpr double kHardlyAny = 1e-4;

double distance(const Tensor& a, const Tensor& b) {
  return (a - b).to(torch::kDouble).norm().item<double>();
}

// Shares, norms and sums with a loop for each, in double.
Tensor naive_pull(const Rows& rows, const Sample& samples, double regularization, double clip) {
  const Tensor x = rows.points.to(torch::kDouble);
  const Tensor t = samples.points.to(torch::kDouble);
  const Tensor labels = samples.labels();
  Tensor result = torch::zeros_like(x);
  const std::int64_t of_class = x.size(0) / rows.classes;
  for (std::int64_t k = 0; k < t.size(0); ++k) {
    const std::int64_t first = labels[k].item<std::int64_t>() * of_class;
    std::vector<double> shares(static_cast<std::size_t>(of_class));
    double sum = 0;
    for (std::int64_t i = 0; i < of_class; ++i) {
      const double d = (x[first + i] - t[k]).square().sum().item<double>();
      const double f = rows.potentials[first + i].item<double>();
      sum += shares[static_cast<std::size_t>(i)] = std::exp((f - d) / regularization);
    }
    Tensor contribution = torch::zeros_like(x);
    for (std::int64_t i = 0; i < of_class; ++i)
      contribution[first + i] = shares[static_cast<std::size_t>(i)] / sum * (x[first + i] - t[k]);
    const double norm = contribution.norm().item<double>();
    result += contribution * std::min(1.0, clip / norm);
  }
  return result;
}

TEST_F(Barriers, APullIsWhatItsDefinitionSays) {
  for (const double clip : {0.5, 100.0}) {
    const Rows rows = random_rows(3, 4, 5);
    const Sample sample = random_sample({7, 0, 9}, 5);
    const Tensor expected = naive_pull(rows, sample, 4, clip);
    EXPECT_LT(distance(pull(rows, sample, 4, clip), expected),
              2e-4 * expected.norm().item<double>());
  }
}

TEST_F(Barriers, OneRecordMovesThePullsByNoMoreThanTheClip) {
  constexpr double kClip = 1.5;
  RecordBarrier barrier(door, {.clip_norm = kClip, .noise_multiplier = kHardlyAny}, 2);
  double largest = 0;
  for (int trial = 0; trial < 200; ++trial) {
    const Rows rows = random_rows(2, 1 + trial % 5, 6);
    const Sample with = random_sample({4, 3}, 6, trial % 2 == 0 ? 4 : 0.5);
    const Tensor before = barrier.release(rows, drawn(with));
    const Tensor after = barrier.release(rows, drawn(without(with, trial % 7)));
    largest = std::max(largest, distance(before, after));
  }
  EXPECT_LE(largest, kClip * (1 + 0.01));
  EXPECT_GT(largest, kClip * (1 - 0.01)) << "the bound is reached: it is not larger than need be";
}

TEST_F(Barriers, OneRecordMovesClippedRowsByNoMoreThanTwiceTheClip) {
  constexpr double kClip = 0.5;
  constexpr std::int64_t kRows = 4;
  RowBarrier row(door, {.clip_norm = kClip, .noise_multiplier = kHardlyAny});
  BatchBarrier batch(door, {.clip_norm = kClip, .noise_multiplier = kHardlyAny});
  for (int trial = 0; trial < 100; ++trial) {
    // Whatever a record does to a gradient, opposite ends of the ball are the worst.
    const Tensor one = torch::randn({kRows, 5}) * 10;
    const Tensor other = trial == 0 ? -one : torch::randn({kRows, 5}) * std::pow(10, trial % 5 - 3);
    const Tensor moved = row.release(drawn(one), kRows) - row.release(drawn(other), kRows);
    for (std::int64_t i = 0; i < kRows; ++i)
      EXPECT_LE(moved[i].norm().item<double>(), 2 * kClip * 1.01);
    const double whole = distance(batch.release(drawn(one)), batch.release(drawn(other)));
    EXPECT_LE(whole, 2 * kClip * 1.01);
    if (trial == 0) {
      EXPECT_NEAR(moved.norm().item<double>(), 2 * kClip * std::sqrt(kRows), 0.01);
      EXPECT_NEAR(whole, 2 * kClip, 0.01);
    }
  }
}

TEST_F(Barriers, SmallGradientsPassUnchanged) {
  RowBarrier row(door, {.clip_norm = 1, .noise_multiplier = kHardlyAny});
  const Tensor gradient = torch::full({3, 4}, 0.25);
  EXPECT_LT(distance(row.release(drawn(gradient), 3), gradient), 5e-3);
  EXPECT_TRUE(clip_rows(gradient, 1).equal(gradient));
}

TEST_F(Barriers, WhatIsNotFiniteCountsAsZero) {
  Tensor gradient = torch::ones({3, 2});
  gradient[1][0] = std::numeric_limits<float>::quiet_NaN();
  gradient[2][1] = std::numeric_limits<float>::infinity();
  const Tensor clipped = clip_rows(gradient, 10);
  EXPECT_EQ(clipped[1].abs().sum().item<float>(), 0);
  EXPECT_EQ(clipped[2].abs().sum().item<float>(), 0);
  EXPECT_EQ(clipped[0].sum().item<float>(), 2);
}

TEST_F(Barriers, KeepRowsWithinTheBoundHoweverLongTheyAre) {
  for (double bound = 1e-7; bound < 1e7; bound *= 1.7)
    for (const double value : {1e-40, 1e-10, 1.0, 1e20, 3.4e38}) {
      const Tensor clipped = clip_rows(torch::full({1, 10}, value, torch::kFloat), bound);
      EXPECT_LE(clipped.to(torch::kDouble).norm().item<double>(), bound) << value;
    }
}

// The mean square of Gaussian noise is off by more than 5 of its standard deviations once in 3.5
// million draws of everything below.
void expect_deviation(const Tensor& noise, double deviation) {
  const auto count = static_cast<double>(noise.numel());
  const double square = noise.to(torch::kDouble).square().mean().item<double>();
  EXPECT_NEAR(square / (deviation * deviation), 1, 5 * std::sqrt(2 / count));
}

TEST_F(Barriers, AnEmptySampleStillGetsItsNoise) {
  constexpr double kClip = 7;
  constexpr double kNoise = 1.75;
  const Rows rows = random_rows(2, 50, 100);
  RecordBarrier record(door, {.clip_norm = kClip, .noise_multiplier = kNoise}, 4);
  const Sample nobody{torch::zeros({0, 100}), {0, 0}};
  expect_deviation(record.release(rows, drawn(nobody)), kClip * kNoise * 1.001);
  const Tensor nothing = torch::zeros({100, 100});
  RowBarrier row(door, {.clip_norm = 0.5, .noise_multiplier = 1.5});
  expect_deviation(row.release(drawn(nothing), 100), 2 * 0.5 * 1.5);
  BatchBarrier batch(door, {.clip_norm = 0.5, .noise_multiplier = 1.1});
  expect_deviation(batch.release(drawn(nothing)), 2 * 0.5 * 1.1);
}

// Secure noise is drawn by several threads, each part of it anew.
TEST_F(Barriers, SecureNoiseOfManyValuesIsIndependent) {
  SecureBits secure;
  Door secure_door(guard, secure);
  BatchBarrier batch(secure_door, {.clip_norm = 0.5, .noise_multiplier = 1});
  const Tensor noise = batch.release(drawn(torch::zeros({300, 1000})));
  expect_deviation(noise, 1);
  const Tensor parts = noise.to(torch::kDouble).view({30, 10000});
  const Tensor products = torch::mm(parts, parts.t()).fill_diagonal_(0) / 100;  // standard normal
  EXPECT_LT(products.abs().max().item<double>(), 7) << "false alarms: once in 10^9 runs";
}

TEST_F(Barriers, EachWritesItsOwnEvent) {
  RowBarrier row(door, {.clip_norm = 0.5, .noise_multiplier = 1.5});
  BatchBarrier batch(door, {.clip_norm = 0.5, .noise_multiplier = 1.1});
  RecordBarrier record(door, {.clip_norm = 7, .noise_multiplier = 1.75}, 4);
  HistogramBarrier histogram(door, 50);
  const Tensor gradient = torch::zeros({50, 3});
  row.release(drawn(gradient, 1.0 / 1200), 50);
  batch.release(drawn(gradient, 0.25));
  batch.release(drawn(gradient, 0.25));
  record.release(random_rows(1, 2, 3), drawn(random_sample({5}, 3), 0.1));
  const Tensor counts = histogram.release(Private<Tensor>(torch::tensor({1000.0, 0.0})));
  EXPECT_NEAR(counts[0].item<double>(), 1000, 400);
  EXPECT_EQ(taken(privacy::SampledGaussian{1.0 / 1200, 1.5 / std::sqrt(50.0), 1}), 1);
  EXPECT_EQ(taken(privacy::SampledGaussian{0.25, 1.1, 1}), 2);
  EXPECT_EQ(taken(privacy::SampledGaussian{0.1, 1.75, 1}), 1);
  EXPECT_EQ(taken(privacy::Gaussian{50, 1}), 1);
}

TEST_F(Barriers, NothingIsReleasedBeyondTheBudget) {
  privacy::BudgetGuard strict(ledger, privacy::Budget{Epsilon{1}, Delta{1e-5}}, {.block = 1});
  Door narrow(strict, bits);
  BatchBarrier barrier(narrow, {.clip_norm = 1, .noise_multiplier = 1});
  int released = 0;
  const auto release_all = [&] {
    while (true) {
      barrier.release(drawn(torch::zeros({1}), 0.5));
      ++released;
    }
  };
  EXPECT_THROW(release_all(), BudgetExceeded);
  EXPECT_EQ(taken(privacy::SampledGaussian{0.5, 1, 1}), released);
}

TEST_F(Barriers, RefuseBoundsThatAreNone) {
  EXPECT_THROW(RowBarrier(door, {.clip_norm = 0, .noise_multiplier = 1}), InvalidArgument);
  EXPECT_THROW(BatchBarrier(door, {.clip_norm = 1, .noise_multiplier = -1}), InvalidArgument);
  EXPECT_THROW(RecordBarrier(door, {.clip_norm = 1, .noise_multiplier = 1}, 0), InvalidArgument);
  EXPECT_THROW(HistogramBarrier(door, 0), InvalidArgument);
}

// With generated and private records of one distribution, the pull of the private ones over their
// expected number is, in the mean, that of a second generated sample: whatever the clip and the
// classes' frequencies. 12 means, each beyond 4.5 standard errors once in 150,000 runs.
TEST_F(Barriers, PrivateAndGeneratedPullsCancelInTheMean) {
  constexpr std::int64_t kDraws = 3000;
  constexpr std::int64_t kOfClass = 4;
  constexpr std::int64_t kSecond = 6;
  constexpr double kRate = 0.2;
  const std::vector<std::int64_t> sizes = {190, 10};  // 95 to 5
  const Tensor means = torch::tensor({{0.0, 0.0, 0.0}, {3.0, -1.0, 0.5}}, torch::kFloat);
  const auto draw = [&](const std::vector<std::int64_t>& counts) {
    Sample sample = random_sample(counts, 3, 1);
    sample.points += means.index_select(0, sample.labels());
    return sample;
  };
  std::vector<Tensor> differences;
  for (std::int64_t t = 0; t < kDraws; ++t) {
    const Rows rows{draw({kOfClass, kOfClass}).points, torch::randn({2 * kOfClass}), 2};
    std::vector<std::int64_t> counts;
    for (const std::int64_t size : sizes)
      counts.push_back(static_cast<std::int64_t>(data::poisson_indices(size, kRate, bits).size()));
    constexpr double kClip = 0.8;  // of pulls that are about 1 long
    const Tensor private_pull = pull(rows, draw(counts), 2, kClip);
    const Tensor self = pull(rows, draw({kSecond, kSecond}), 2, kClip) / kSecond;
    const Tensor expected = kRate * torch::tensor(sizes, torch::kFloat)
                                        .repeat_interleave(torch::tensor({kOfClass, kOfClass}))
                                        .unsqueeze(1);
    // Pulls towards a point cancel in the sum over rows; lengths along the row itself do not.
    const Tensor difference = private_pull / expected - self;
    const Tensor along = difference * rows.points;
    differences.push_back(torch::cat({difference, along}, 1).view({2, kOfClass, 6}).mean(1));
  }
  const Tensor all = torch::stack(differences).to(torch::kDouble);
  const Tensor scores = all.mean(0) / (all.std(0) / std::sqrt(static_cast<double>(kDraws)));
  EXPECT_LT(scores.abs().max().item<double>(), 4.5) << scores;
}

class ShardBarriers : public Barriers {
 protected:
  static ShardBarrier make(ShardBarrier::Clip clip, double multiplier, std::int64_t paid = 0) {
    return {{.clip_norm = 0.5, .noise_multiplier = multiplier}, clip, 8, paid};
  }
};

// All of a shard's data may change, and with them the whole answer.
TEST_F(ShardBarriers, MoveByNoMoreThanTheirSensitivityWhateverAShardHolds) {
  for (const auto clip : {ShardBarrier::Clip::kRows, ShardBarrier::Clip::kWhole}) {
    ShardBarrier barrier = make(clip, kHardlyAny);
    const double bound = clip == ShardBarrier::Clip::kRows ? 2 * 0.5 * std::sqrt(8) : 2 * 0.5;
    double most = 0;
    for (int k = 0; k < 20; ++k) {
      const Tensor one = torch::randn({8, 1, 3, 4}) * std::pow(10.0, k % 5 - 2);
      const Tensor other = k % 2 == 0 ? -one : torch::randn({8, 1, 3, 4});
      most = std::max(most, distance(barrier.release(door, Private<Tensor>(one), 1),
                                     barrier.release(door, Private<Tensor>(other), 1)));
    }
    const double noise = 10 * 2 * bound * kHardlyAny * std::sqrt(96);
    EXPECT_LE(most, bound + noise);
    EXPECT_GT(most, 0.99 * bound);  // the bound is reached
  }
}

TEST_F(ShardBarriers, HaveTheNoiseOfTheirEvent) {
  for (const auto clip : {ShardBarrier::Clip::kRows, ShardBarrier::Clip::kWhole}) {
    ShardBarrier barrier = make(clip, 3);
    const Private<Tensor> nothing(torch::zeros({8, 1, 50, 50}));
    const Tensor noise = barrier.release(door, nothing, 1);
    // 20,000 numbers: 5 standard deviations of their estimate, a false alarm in 10^6.
    EXPECT_NEAR(noise.std().item<double>(), 2 * 0.5 * 3, 5 * 3 / std::sqrt(2 * 20000.0));
    const double multiplier = clip == ShardBarrier::Clip::kRows ? 3 / std::sqrt(8) : 3;
    EXPECT_NEAR(std::get<privacy::Gaussian>(barrier.event()).noise_multiplier, multiplier, 1e-12);
  }
}

TEST_F(ShardBarriers, PayForTheShardThatAnsweredMostOften) {
  ShardBarrier barrier = make(ShardBarrier::Clip::kWhole, 3);
  const Private<Tensor> answer(torch::ones({8, 1, 2, 2}));
  for (const std::int64_t use : {1, 1, 1, 2, 1, 2, 3, 3}) barrier.release(door, answer, use);
  EXPECT_EQ(taken(barrier.event()), 3);
  // Resumed: what is in the ledger is not paid again, what is not is.
  ShardBarrier resumed = make(ShardBarrier::Clip::kWhole, 3, 3);
  resumed.release(door, answer, 3);
  EXPECT_EQ(taken(barrier.event()), 3);
  resumed.release(door, answer, 5);
  EXPECT_EQ(taken(barrier.event()), 5);
}

}  // namespace
}  // namespace obol::barrier
