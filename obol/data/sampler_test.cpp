#include "obol/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/data/testing.h"
#include "obol/testing/bits.h"

namespace obol::data {
namespace {

using test::ScriptedBits;

using testing::bytes_of;
using testing::counting_bytes;
using testing::opened;
using testing::says;
using testing::usage_refusal;

// A standard normal is beyond this with probability 2.6e-12; the tests below look at fewer than
// 400 of them each, so a right sampler fails a test with probability below 1e-9.
constexpr double kFarOut = 7.0;

// With probability above 1 - 1e-9 a chi-square variable of k degrees lies inside (Laurent and
// Massart 2000, lemma 1, with x = 21.5 on either side).
struct Interval {
  double low;
  double high;
};
Interval chi_square_interval(double degrees) {
  constexpr double kX = 21.5;
  return {degrees - 2 * std::sqrt(degrees * kX), degrees + 2 * std::sqrt(degrees * kX) + 2 * kX};
}

TEST(PoissonSampler, TakesNoRecordAtRateZero) {
  SeededBits bits(1);
  EXPECT_TRUE(poisson_indices(5000, 0.0, bits).empty());
}

TEST(PoissonSampler, TakesEveryRecordAtRateOne) {
  SeededBits bits(1);
  const auto all = poisson_indices(5000, 1.0, bits);
  ASSERT_EQ(all.size(), 5000U);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<std::int64_t>(i));
}

TEST(PoissonSampler, TakesNothingFromNothing) {
  SeededBits bits(1);
  EXPECT_TRUE(poisson_indices(0, 0.5, bits).empty());
  EXPECT_TRUE(poisson_indices(0, 1.0, bits).empty());
}

TEST(PoissonSampler, RefusesRatesThatAreNoProbability) {
  SeededBits bits(1);
  for (const double rate : {-1e-300, 1.0 + 1e-15, 2.0, std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()})
    EXPECT_TRUE(says(usage_refusal([&] { (void)poisson_indices(10, rate, bits); }),
                     {"sampling_rate must be between 0 and 1"}));
}

TEST(PoissonSampler, RoundsTheRateDownToAMultipleOfTwoToTheMinus64) {
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63;
  ScriptedBits around_half({0, kHalf - 1, kHalf, ~std::uint64_t{0}});
  EXPECT_EQ(poisson_indices(4, 0.5, around_half), (std::vector<std::int64_t>{0, 1}));
  ScriptedBits smallest({0, 1});
  EXPECT_EQ(poisson_indices(2, std::ldexp(1.0, -64), smallest), std::vector<std::int64_t>{0});
  ScriptedBits below_smallest({0, 1});
  EXPECT_TRUE(poisson_indices(2, std::ldexp(1.0, -65), below_smallest).empty());
  // The largest rate below one must not wrap to nothing.
  ScriptedBits nearly_one({0, (~std::uint64_t{0} << 11) - 1, ~std::uint64_t{0} << 11});
  EXPECT_EQ(poisson_indices(3, 1.0 - std::ldexp(1.0, -53), nearly_one),
            (std::vector<std::int64_t>{0, 1}));
}

TEST(PoissonSampler, GivesAscendingIndicesAcrossItsBuffers) {
  SeededBits bits(2);
  const auto chosen = poisson_indices(5000, 0.4, bits);
  EXPECT_TRUE(std::is_sorted(chosen.begin(), chosen.end(), std::less_equal<>()));
  EXPECT_GE(chosen.front(), 0);
  EXPECT_LT(chosen.back(), 5000);
}

// Which of the records took part, one row per draw.
std::vector<std::vector<bool>> draws(std::int64_t population, double rate, int count,
                                     std::uint64_t seed) {
  SeededBits bits(seed);
  std::vector<std::vector<bool>> all;
  for (int t = 0; t < count; ++t) {
    std::vector<bool> taken(static_cast<std::size_t>(population));
    for (const std::int64_t i : poisson_indices(population, rate, bits))
      taken[static_cast<std::size_t>(i)] = true;
    all.push_back(std::move(taken));
  }
  return all;
}

TEST(PoissonSampler, TakesEachRecordAtTheRate) {
  constexpr int kDraws = 10000;
  constexpr std::int64_t kPopulation = 100;
  for (const double rate : {0.03, 0.3, 0.9}) {
    const auto taken = draws(kPopulation, rate, kDraws, 3);
    const double spread = std::sqrt(kDraws * rate * (1 - rate));
    double chi_square = 0;
    for (std::size_t i = 0; i < kPopulation; ++i) {
      const auto times = std::count_if(taken.begin(), taken.end(),
                                       [&](const std::vector<bool>& draw) { return draw[i]; });
      const double z = (static_cast<double>(times) - kDraws * rate) / spread;
      EXPECT_LT(std::abs(z), kFarOut) << "record " << i << " at rate " << rate;
      chi_square += z * z;
    }
    const Interval likely = chi_square_interval(kPopulation);
    EXPECT_GT(chi_square, likely.low) << "too even to be random at rate " << rate;
    EXPECT_LT(chi_square, likely.high) << "rate " << rate;
  }
}

TEST(PoissonSampler, TakesRecordsIndependentlyOfEachOther) {
  constexpr int kDraws = 10000;
  constexpr double kRate = 0.3;
  constexpr std::size_t kLooked = 20;
  const auto taken = draws(kLooked, kRate, kDraws, 4);
  const double spread = std::sqrt(kDraws) * kRate * (1 - kRate);
  double chi_square = 0;
  for (std::size_t i = 0; i < kLooked; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      double covariance = 0;
      for (const auto& draw : taken) covariance += (draw[i] - kRate) * (draw[j] - kRate);
      const double z = covariance / spread;
      EXPECT_LT(std::abs(z), kFarOut) << "records " << i << " and " << j;
      chi_square += z * z;
    }
  const Interval likely = chi_square_interval(kLooked * (kLooked - 1) / 2.0);
  EXPECT_GT(chi_square, likely.low);
  EXPECT_LT(chi_square, likely.high);
}

TEST(PoissonSampler, TakesARecordIndependentlyOfTheDrawBefore) {
  constexpr int kDraws = 20000;
  constexpr double kRate = 0.5;
  const auto taken = draws(10, kRate, kDraws, 5);
  for (std::size_t i = 0; i < 10; ++i) {
    double covariance = 0;
    for (std::size_t t = 1; t < taken.size(); ++t)
      covariance += (taken[t][i] - kRate) * (taken[t - 1][i] - kRate);
    EXPECT_LT(std::abs(covariance / (std::sqrt(kDraws) * kRate * (1 - kRate))), kFarOut) << i;
  }
}

TEST(PoissonSampler, GivesBatchesWhoseSizesVaryAsTheyMust) {
  constexpr int kDraws = 2000;
  constexpr std::int64_t kPopulation = 1500;  // more than one buffer of random words
  constexpr double kRate = 0.1;
  SeededBits bits(6);
  const double mean = kPopulation * kRate;
  const double variance = kPopulation * kRate * (1 - kRate);
  double sum = 0;
  double squares = 0;
  for (int t = 0; t < kDraws; ++t) {
    const auto size = static_cast<double>(poisson_indices(kPopulation, kRate, bits).size());
    sum += size - mean;
    squares += (size - mean) * (size - mean);
  }
  EXPECT_LT(std::abs(sum / std::sqrt(kDraws * variance)), kFarOut);
  // Each squared deviation has mean 1 and variance about 2 in units of the variance.
  EXPECT_LT(std::abs((squares / variance - kDraws) / std::sqrt(2.0 * kDraws)), kFarOut);
}

TEST(Shards, PartitionTheRecordsEvenly) {
  SeededBits bits(9);
  for (const std::int64_t population : {1, 2, 10, 23}) {
    for (std::int64_t count = 1; count <= population; ++count) {
      const auto shards = shard_indices(population, count, bits);
      ASSERT_EQ(shards.size(), static_cast<std::size_t>(count));
      std::vector<std::int64_t> all;
      for (const auto& shard : shards) {
        EXPECT_TRUE(std::is_sorted(shard.begin(), shard.end()));
        EXPECT_GE(static_cast<std::int64_t>(shard.size()), population / count);
        EXPECT_LE(static_cast<std::int64_t>(shard.size()), (population + count - 1) / count);
        all.insert(all.end(), shard.begin(), shard.end());
      }
      std::sort(all.begin(), all.end());
      std::vector<std::int64_t> expected(static_cast<std::size_t>(population));
      std::iota(expected.begin(), expected.end(), 0);
      EXPECT_EQ(all, expected);
    }
  }
}

TEST(Shards, CannotBeFewerThanOneOrMoreThanTheRecords) {
  SeededBits bits(9);
  for (const std::int64_t count : {-1, 0, 11})
    EXPECT_TRUE(says(usage_refusal([&] { (void)shard_indices(10, count, bits); }),
                     {"number of shards", "between 1 and 10"}));
}

TEST(Shards, GetEachRecordEquallyOften) {
  constexpr int kDraws = 10000;
  constexpr std::size_t kPopulation = 10;
  constexpr std::size_t kShards = 3;  // of 4, 3 and 3 records
  SeededBits bits(10);
  std::vector<std::vector<int>> times(kShards, std::vector<int>(kPopulation, 0));
  for (int t = 0; t < kDraws; ++t) {
    const auto shards = shard_indices(kPopulation, kShards, bits);
    for (std::size_t s = 0; s < kShards; ++s)
      for (const std::int64_t i : shards[s]) ++times[s][static_cast<std::size_t>(i)];
  }
  for (std::size_t s = 0; s < kShards; ++s)
    for (std::size_t i = 0; i < kPopulation; ++i) {
      const double share = s == 0 ? 0.4 : 0.3;
      const double z = (times[s][i] - kDraws * share) / std::sqrt(kDraws * share * (1 - share));
      EXPECT_LT(std::abs(z), kFarOut) << "record " << i << " in shard " << s;
    }
}

TEST(DisjointShards, DeclareTheirOwnSizesAndShareNoRecord) {
  const Private<Dataset> data(counting_bytes(11, {.channels = 1, .height = 1, .width = 1}, 2));
  SeededBits bits(11);
  std::multiset<int> seen;
  std::vector<std::int64_t> sizes;
  for (const Private<Dataset>& shard : disjoint_shards(data, 3, bits)) {
    const Dataset inside = opened(shard);
    sizes.push_back(shard.facts().declared_size);
    EXPECT_EQ(inside.count(), shard.facts().declared_size);
    for (std::size_t i = 0; i < inside.labels.size(); ++i) {
      EXPECT_EQ(inside.labels[i], bytes_of(inside)[i] % 2);
      seen.insert(bytes_of(inside)[i]);
    }
  }
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{4, 4, 3}));
  EXPECT_EQ(seen, (std::multiset<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
}

TEST(DisjointShards, OfABatchHoldItsRecordsAndDeclareSizesThatHideHowMany) {
  const Private<Dataset> data(counting_bytes(100, {.channels = 1, .height = 1, .width = 1}));
  SeededBits bits(12);
  const Private<Dataset> batch = data.map(
      [&](const Dataset& all) { return select(all, poisson_indices(all.count(), 0.2, bits)); });
  std::vector<std::uint8_t> together;
  for (const Private<Dataset>& shard : disjoint_shards(batch, 4, bits)) {
    EXPECT_EQ(shard.facts().declared_size, 25);
    const Dataset inside = opened(shard);
    const auto bytes = bytes_of(inside);
    together.insert(together.end(), bytes.begin(), bytes.end());
  }
  std::sort(together.begin(), together.end());
  EXPECT_EQ(together, bytes_of(opened(batch)));
}

}  // namespace
}  // namespace obol::data
