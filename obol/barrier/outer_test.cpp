// What one record can change in a sum of outer products, as computed, and what the barrier pays.
//
// OBOL_PAIRS sets how many pairs of neighbouring sums the sweep compares (default 1,000).
#include "obol/barrier/outer.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>

#include "obol/barrier/testing.h"
#include "obol/base/error.h"

namespace obol::barrier {
namespace {

using testing::BarrierTest;
using testing::drawn;
using torch::Tensor;

constexpr double kEndless = std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

Tensor less_one(const Tensor& rows, std::int64_t record) {
  return torch::cat({rows.slice(0, 0, record), rows.slice(0, record + 1)});
}

// One product after the other, rounding nothing to a grid.
Tensor sum_one_by_one(const Tensor& left, const Tensor& right, double clip) {
  Tensor sum = torch::zeros({left.size(1), right.size(1)}, torch::kDouble);
  for (std::int64_t k = 0; k < left.size(0); ++k) {
    const Tensor product = torch::outer(left[k].to(torch::kDouble), right[k].to(torch::kDouble));
    sum += product * std::min(1.0, clip / product.norm().item<double>());
  }
  return sum;
}

Tensor some_rows(std::int64_t kind, std::int64_t m, std::int64_t d) {
  const auto wide = torch::TensorOptions(torch::kDouble);
  switch (kind) {
    case 0:
      return torch::rand({m, d}, wide) * 2 - 1;
    case 1:
      return (torch::rand({1, d}, wide) * 2 - 1).repeat({m, 1});  // copies
    case 2:
      return torch::randn({m, d}, wide) * torch::pow(10, torch::randint(-12, 4, {m, d}, wide));
    default: {
      const Tensor choices =
          torch::tensor({1.0, -1.0, 0.0, 1e-300, 1e300, -1e9, 0.5, kEndless, kNoNumber}, wide);
      return choices.index_select(0, torch::randint(0, 9, {m * d}, torch::kLong)).view({m, d});
    }
  }
}

TEST(SumOfOuterProducts, AgreesWithTheSlowReference) {
  torch::manual_seed(31);
  for (const double clip : {0.01, 0.3, 10.0})
    for (const std::int64_t dimension : {1, 30, 700}) {
      const Tensor left = torch::rand({100, 5}, torch::kDouble) * 2 - 1;
      const Tensor right =
          (torch::rand({100, dimension}, torch::kDouble) * 2 - 1) / std::sqrt(dimension);
      const Tensor sum = sum_of_outer_products({.left = left, .right = right}, clip);
      // A left number is rounded down by at most 2^-17, a right one by half of 2^-20: for each of
      // 100 records of these lengths less than 1e-4.
      EXPECT_LT((sum - sum_one_by_one(left, right, clip)).norm().item<double>(), 100 * 1e-4)
          << clip << ' ' << dimension;
    }
}

TEST(SumOfOuterProducts, MovesByAtMostTheClipWhateverTheOtherRecordsAre) {
  torch::manual_seed(32);
  const char* text = std::getenv("OBOL_PAIRS");
  const std::int64_t pairs = text == nullptr ? 1000 : std::atoll(text);
  double largest = 0;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const double clip = std::pow(10.0, 4 * torch::rand({}).item<double>() - 3);
    const std::int64_t m = 1 + torch::randint(0, 40, {}).item<std::int64_t>();
    const Tensor left = some_rows(pair % 4, m, 1 + pair % 11);
    Tensor right = some_rows(pair / 4 % 4, m, 1 + pair % 67);
    if (pair % 2 == 0) right = right.to(torch::kFloat);
    const std::int64_t record = pair % m;
    const double moved =
        (sum_of_outer_products({.left = left, .right = right}, clip) -
         sum_of_outer_products({.left = less_one(left, record), .right = less_one(right, record)},
                               clip))
            .norm()
            .item<double>();
    largest = std::max(largest, moved / clip);
    ASSERT_LE(moved, clip) << "pair " << pair;
  }
  EXPECT_GT(largest, 0.999) << "the bound is reached";
  std::printf("%lld pairs: at most %.9f of the bound\n", static_cast<long long>(pairs), largest);
}

// 40,000 records are more than one matrix product sums up.
TEST(SumOfOuterProducts, OfManyRecordsIsExact) {
  torch::manual_seed(33);
  constexpr std::int64_t kRecords = 40'000;
  const Tensor left = torch::rand({kRecords, 3}, torch::kDouble) * 2 - 1;
  const Tensor right = torch::rand({kRecords, 9}) * 2 - 1;
  const Tensor whole = sum_of_outer_products({.left = left, .right = right}, 0.5);
  const Tensor order = torch::randperm(kRecords);
  EXPECT_TRUE(whole.equal(sum_of_outer_products(
      {.left = left.index_select(0, order), .right = right.index_select(0, order)}, 0.5)));
  for (const std::int64_t record : {std::int64_t{0}, std::int64_t{20'000}, kRecords - 1}) {
    const Tensor moved =
        whole - sum_of_outer_products(
                    {.left = less_one(left, record), .right = less_one(right, record)}, 0.5);
    EXPECT_TRUE(moved.equal(sum_of_outer_products(
        {.left = left.narrow(0, record, 1), .right = right.narrow(0, record, 1)}, 0.5)));
  }
}

TEST(SumOfOuterProducts, LeavesOutARecordThatIsNotFiniteOrAbsent) {
  torch::manual_seed(34);
  const Tensor left = torch::rand({4, 2}, torch::kDouble);
  const Tensor right = torch::rand({4, 5}, torch::kDouble);
  const Tensor expected =
      sum_of_outer_products({.left = left.slice(0, 0, 3), .right = right.slice(0, 0, 3)}, 1);
  for (const double value : {kNoNumber, kEndless, -kEndless}) {
    Tensor odd = left.clone();
    odd[3][1] = value;
    EXPECT_TRUE(sum_of_outer_products({.left = odd, .right = right}, 1).equal(expected));
    odd = right.clone();
    odd[3][0] = value;
    EXPECT_TRUE(sum_of_outer_products({.left = left, .right = odd}, 1).equal(expected));
  }
  EXPECT_TRUE(sum_of_outer_products(
                  {.left = left, .right = right, .present = torch::tensor({1.0, 1.0, 1.0, 0.0})}, 1)
                  .equal(expected));
}

TEST(OnOuterGrid, ChangesNothingThatIsOnItAndIsWhatTheSumHas) {
  torch::manual_seed(35);
  const Tensor right = torch::rand({6, 40}) * 2 - 1;
  const Tensor once = on_outer_grid(right);
  EXPECT_TRUE(on_outer_grid(once).equal(once));
  EXPECT_TRUE(on_outer_grid(once.to(torch::kFloat)).equal(once)) << "floats hold it";
  const Tensor one = torch::ones({6, 1}, torch::kDouble);
  EXPECT_TRUE(sum_of_outer_products({.left = one, .right = right}, 100).equal(once.sum(0, true)));
}

using OuterBarrierTest = BarrierTest;

TEST_F(OuterBarrierTest, PaysForASampleAndAddsTheNoiseOfTheClip) {
  OuterBarrier barrier(
      door,
      {.clip_norm = 0.5, .noise_multiplier = 3, .left = 10, .right = 2000, .purpose = "teacher"});
  const Tensor released = barrier.release(
      drawn(OuterProducts{.left = torch::zeros({1, 10}), .right = torch::zeros({1, 2000})}, 0.25));
  // 20,000 normal numbers of standard deviation 1.5: their sample deviation is off by more than 5%
  // with a probability below 1e-20; the seed is fixed.
  EXPECT_NEAR(released.std().item<double>(), 1.5, 0.075);
  EXPECT_EQ(
      taken(privacy::SampledGaussian{.sampling_rate = 0.25, .noise_multiplier = 3, .count = 1},
            "teacher"),
      1);
}

TEST_F(OuterBarrierTest, RefusesWhatCannotBeMeant) {
  const OuterOptions good{
      .clip_norm = 1, .noise_multiplier = 1, .left = 2, .right = 3, .purpose = "teacher"};
  OuterOptions bad = good;
  bad.clip_norm = 0;
  EXPECT_THROW(OuterBarrier(door, bad), InvalidArgument);
  bad = good;
  bad.right = (std::int64_t{1} << 20) + 1;
  EXPECT_THROW(OuterBarrier(door, bad), InvalidArgument);
  bad = good;
  bad.purpose = "";
  EXPECT_THROW(OuterBarrier(door, bad), InvalidArgument);
  OuterBarrier barrier(door, good);
  EXPECT_THROW(barrier.release(drawn(
                   OuterProducts{.left = torch::zeros({1, 3}), .right = torch::zeros({1, 3})})),
               Error);
}

}  // namespace
}  // namespace obol::barrier
