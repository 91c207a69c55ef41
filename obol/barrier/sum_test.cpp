// What one record can change in a sum, as computed, and what the barrier makes of it.
//
// OBOL_PAIRS sets how many pairs of neighbouring sums the sweep compares (default 3,000).
#include "obol/barrier/sum.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "obol/barrier/testing.h"
#include "obol/base/error.h"
#include "obol/testing/gpu.h"

namespace obol::barrier {
namespace {

using testing::BarrierTest;
using testing::drawn;
using testing::opened;
using torch::Tensor;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Numbers {
  double clip_norm = 1;
  std::int64_t groups = 1;
};

Tensor exact_sum(const Contributions& some, const Numbers& numbers) {
  ExactSum sum(numbers.clip_norm, numbers.groups, some.rows.size(1));
  sum.add(some);
  return sum.value();
}

// Norms, factors and sums with a loop for each, in long double, rounding nothing to a grid.
Tensor slow_sum(const Contributions& some, const Numbers& numbers) {
  const Tensor rows = some.rows.to(torch::kDouble).contiguous();
  const std::int64_t width = rows.size(1);
  Tensor sum = torch::zeros({numbers.groups, width}, torch::kDouble);
  for (std::int64_t k = 0; k < rows.size(0); ++k) {
    const double* row = rows.data_ptr<double>() + k * width;
    long double square = 0;
    for (std::int64_t j = 0; j < width; ++j) square += static_cast<long double>(row[j]) * row[j];
    const long double norm = std::sqrt(square);
    const long double factor = norm > numbers.clip_norm ? numbers.clip_norm / norm : 1.0L;
    const std::int64_t group = some.groups.defined() ? some.groups[k].item<std::int64_t>() : 0;
    double* to = sum.data_ptr<double>() + group * width;
    for (std::int64_t j = 0; j < width; ++j) to[j] += static_cast<double>(row[j] * factor);
  }
  return sum;
}

Tensor without_row(const Tensor& rows, std::int64_t record) {
  return torch::cat({rows.slice(0, 0, record), rows.slice(0, record + 1)});
}

TEST(ExactSum, IsThePlainSumOfRowsOnTheGridWithinTheClip) {
  torch::manual_seed(21);
  const Tensor rows = torch::randint(-8, 9, {500, 6}).to(torch::kDouble) / 64;  // at most 0.31 long
  EXPECT_TRUE(exact_sum({rows}, {}).equal(rows.sum(0, true)));
  const Tensor groups = torch::randint(0, 3, {500}, torch::kLong);
  const Tensor expected = torch::zeros({3, 6}, torch::kDouble).index_add_(0, groups, rows);
  EXPECT_TRUE(exact_sum({rows, groups}, {.groups = 3}).equal(expected));
}

TEST(ExactSum, OfOneLongRowPointsWhereItDidAndIsAsLongAsTheClip) {
  for (const double clip : {1e-30, 0.3, 1.0, 1e30})
    for (const double length : {2.0, 1e5, 1e40}) {
      const Tensor row = torch::tensor({{3.0, 0.0, -4.0}}, torch::kDouble) * (length * clip);
      const Tensor sum = exact_sum({row}, {.clip_norm = clip});
      EXPECT_NEAR(sum[0][0].item<double>() / clip, 0.6, 1e-6);
      EXPECT_EQ(sum[0][1].item<double>(), 0);
      EXPECT_NEAR(sum[0][2].item<double>() / clip, -0.8, 1e-6);
    }
}

TEST(ExactSum, AgreesWithTheSlowReference) {
  torch::manual_seed(22);
  for (const auto type : {torch::kFloat, torch::kDouble})
    for (const double clip : {0.01, 1.0, 50.0})
      for (const std::int64_t dimension : {1, 7, 300}) {
        const Contributions some{torch::randn({200, dimension}, type) * 3,
                                 torch::randint(0, 4, {200}, torch::kLong)};
        const Numbers numbers{.clip_norm = clip, .groups = 4};
        const Tensor expected = slow_sum(some, numbers);
        // Each of 200 rows is off by at most sqrt(dimension) / 2^row_bits of its length, and by a
        // unit in each coordinate.
        const double difference = (exact_sum(some, numbers) - expected).norm().item<double>();
        EXPECT_LE(difference, 200 * clip * 1e-5) << clip << ' ' << dimension;
      }
}

enum class RowKind { kNormal, kCopies, kSpread, kExtreme, kAlmostClipped };

Tensor rows_of_kind(int kind, std::int64_t m, std::int64_t d) {
  const auto wide = torch::TensorOptions(torch::kDouble);
  switch (static_cast<RowKind>(kind)) {
    case RowKind::kNormal:
      return torch::randn({m, d}, wide);
    case RowKind::kCopies:
      return torch::randn({1, d}, wide).repeat({m, 1});
    case RowKind::kSpread:  // coordinates of one row from 1e-20 to 1e20
      return torch::randn({m, d}, wide) * torch::pow(10, torch::randint(-20, 21, {m, d}, wide));
    case RowKind::kExtreme: {
      const Tensor choices = torch::tensor({1.7e308, -1.7e308, 1e151, 1e150, -1e149, 5e-324,
                                            -1e-310, 0.0, -0.0, 1.0, kInfinity, kNan},
                                           wide);
      return choices.index_select(0, torch::randint(0, 12, {m * d}, torch::kLong)).view({m, d});
    }
    default: {  // the least rounding decides whether a row is clipped
      const Tensor rows = torch::randn({m, d}, wide);
      const Tensor near = 1 + (torch::rand({m, 1}, wide) - 0.5) * 1e-7;
      return rows / rows.norm(2, {1}, true) * near;
    }
  }
}

TEST(ExactSum, MovesByAtMostTheClipWhateverTheOtherRecordsAre) {
  torch::manual_seed(23);
  const char* text = std::getenv("OBOL_PAIRS");
  const std::int64_t pairs = text == nullptr ? 3000 : std::atoll(text);
  double largest = 0;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const double clip = std::pow(10.0, 6 * torch::rand({}).item<double>() - 3);
    const std::int64_t m = 1 + torch::randint(0, 40, {}).item<std::int64_t>();
    Tensor rows = rows_of_kind(static_cast<int>(pair % 5), m, 1 + pair % 67);
    if (pair % 5 != 3) rows = rows * clip;
    if (pair % 2 == 0) rows = rows.to(torch::kFloat);
    const Numbers numbers{.clip_norm = clip};
    const double moved =
        (exact_sum({rows}, numbers) - exact_sum({without_row(rows, pair % m)}, numbers))
            .norm()
            .item<double>();
    largest = std::max(largest, moved / clip);
    ASSERT_LE(moved, clip) << "pair " << pair;
  }
  EXPECT_GT(largest, 0.99999) << "the bound is reached";
  std::printf("%lld pairs: at most %.9f of the bound\n", static_cast<long long>(pairs), largest);
}

TEST(ExactSum, OfManyRecordsMovesByTheRoundedRowOfTheOneThatGoes) {
  torch::manual_seed(24);
  constexpr std::int64_t kRecords = 100'000;
  for (const bool are_copies : {false, true}) {
    Tensor rows = torch::randn({kRecords, 20}) * 2;
    if (are_copies) rows = rows.slice(0, 0, 1).repeat({kRecords, 1});
    for (const std::int64_t record : {std::int64_t{0}, kRecords / 3, kRecords - 1}) {
      const Tensor moved = exact_sum({rows}, {}) - exact_sum({without_row(rows, record)}, {});
      EXPECT_LE(moved.norm().item<double>(), 1);
      EXPECT_TRUE(moved.equal(exact_sum({rows.narrow(0, record, 1)}, {})));
    }
  }
}

TEST(ExactSum, IsTheSameToTheLastBitInAnyOrderInAnyPartsOnAnyThreads) {
  torch::manual_seed(25);
  const int threads = at::get_num_threads();
  for (int kind = 0; kind < 5; ++kind) {
    const Tensor rows = rows_of_kind(kind, 4000, 37);
    const Tensor groups = torch::randint(0, 3, {4000}, torch::kLong);
    const Numbers numbers{.clip_norm = 0.7, .groups = 3};
    const Tensor whole = exact_sum({rows, groups}, numbers);
    EXPECT_TRUE(whole.isfinite().all().item<bool>());
    const Tensor order = torch::randperm(4000);
    EXPECT_TRUE(whole.equal(
        exact_sum({rows.index_select(0, order), groups.index_select(0, order)}, numbers)));
    for (const std::int64_t part : {1000, 999, 1}) {
      ExactSum sum(0.7, 3, 37);
      ExactSum odd(0.7, 3, 37);
      for (std::int64_t from = 0; from < 4000; from += part) {
        const std::int64_t count = std::min(part, 4000 - from);
        (from / part % 2 == 0 ? sum : odd)
            .add(Contributions{rows.narrow(0, from, count), groups.narrow(0, from, count)});
      }
      sum.add(odd);
      EXPECT_TRUE(whole.equal(sum.value())) << part;
    }
    for (const int some : {1, 3}) {
      at::set_num_threads(some);
      EXPECT_TRUE(whole.equal(exact_sum({rows, groups}, numbers)));
    }
    at::set_num_threads(threads);
  }
}

// Neither the layout of a tensor nor the type of numbers that both types hold.
TEST(ExactSum, DoesNotDependOnHowTheRowsAreStored) {
  torch::manual_seed(26);
  const Tensor rows = torch::randn({333, 41});
  const Tensor sum = exact_sum({rows}, {.clip_norm = 3});
  EXPECT_TRUE(sum.equal(exact_sum({rows.to(torch::kDouble)}, {.clip_norm = 3})));
  EXPECT_TRUE(sum.equal(exact_sum({rows.t().contiguous().t()}, {.clip_norm = 3})));
}

TEST(ExactSum, OfARecordThatIsNotFiniteIsZeroAndThatOfOthersIsNot) {
  torch::manual_seed(27);
  const Tensor rows = torch::randn({5, 6}, torch::kDouble);
  const Tensor expected = exact_sum({rows}, {});
  for (const double value : {kNan, kInfinity, -kInfinity, 1e151, -1.7e308}) {
    Tensor odd = torch::randn({1, 6}, torch::kDouble);
    odd[0][2] = value;
    EXPECT_TRUE(
        exact_sum({torch::cat({rows.slice(0, 0, 2), odd, rows.slice(0, 2)})}, {}).equal(expected));
  }
}

TEST(ExactSum, LeavesOutWhoIsAbsentOrOfNoGroup) {
  torch::manual_seed(28);
  const Tensor rows = torch::randn({4, 3});
  const Tensor all = torch::tensor({0, 1, 0, 1}, torch::kLong);
  const Numbers two{.clip_norm = 1, .groups = 2};
  const Tensor expected = exact_sum({rows.slice(0, 0, 3), all.slice(0, 0, 3)}, two);
  for (const std::int64_t group : {std::int64_t{-1}, std::int64_t{2}, std::int64_t{1} << 40}) {
    Tensor groups = all.clone();
    groups[3] = group;
    EXPECT_TRUE(exact_sum({rows, groups}, two).equal(expected));
  }
  EXPECT_TRUE(exact_sum({rows, all, torch::tensor({1.0, 1.0, 1.0, 0.0})}, two).equal(expected));
  EXPECT_TRUE(exact_sum({torch::zeros({0, 3}), torch::zeros({0}, torch::kLong)}, two)
                  .equal(torch::zeros({2, 3}, torch::kDouble)));
}

TEST(ExactSumGpu, IsThatOfTheCpuToTheLastBit) {
  OBOL_NEEDS_GPU();
  torch::manual_seed(29);
  for (int kind = 0; kind < 5; ++kind) {
    const Tensor rows = rows_of_kind(kind, 4000, 37);
    const Tensor groups = torch::randint(0, 3, {4000}, torch::kLong);
    const Numbers numbers{.clip_norm = 0.7, .groups = 3};
    EXPECT_TRUE(exact_sum({rows, groups}, numbers)
                    .equal(exact_sum({rows.cuda(), groups.cuda()}, numbers).cpu()));
  }
}

TEST(SumGrid, HoldsNormsAndSumsInADouble) {
  for (std::int64_t dimension = 1; dimension < (std::int64_t{1} << 30);
       dimension = dimension * 3 + 1) {
    const SumGrid grid = sum_grid(0.37, dimension);
    EXPECT_GE(grid.row_bits, 11);
    EXPECT_LE(static_cast<double>(dimension) * std::ldexp(1.0, 2 * grid.row_bits), 0x1p53);
    EXPECT_GE(0.37 / grid.unit, 0x1p26);
    EXPECT_LT(0.37 / grid.unit, 0x1p27);
    EXPECT_LT(grid.limit, 0.37);
  }
}

class SumBarriers : public BarrierTest {
 protected:
  static data::Dataset numbered() {
    data::Dataset data{.shape = {.channels = 1, .height = 1, .width = 2},
                       .class_names = {"a", "b", "c"},
                       .declared_size = 100};
    std::vector<std::uint8_t> pixels;
    for (int i = 0; i < 100; ++i) {
      pixels.insert(pixels.end(), {static_cast<std::uint8_t>(i), 255});
      data.labels.push_back(i % 2);
    }
    data.pixels = pixels;
    return data;
  }
  // The pixels, as eighths of a byte's value, for each class: 0.5 long at most.
  static Contributions eighths(const Sample& some) {
    return {.rows = (some.points * 255).round() / 1024, .groups = some.labels()};
  }
  SumOptions options(double noise_multiplier) const {
    return {.clip_norm = 1,
            .noise_multiplier = noise_multiplier,
            .groups = 3,
            .dimension = 2,
            .purpose = "test sum"};
  }
  const PrivateRecords records{Private<data::Dataset>(numbered()), {}};
  // 0 + 2 + ... + 98, 1 + 3 + ... + 99, and fifty times 255.
  const Tensor expected =
      torch::tensor({{2450.0, 12750.0}, {2500.0, 12750.0}, {0.0, 0.0}}, torch::kDouble) / 1024;
};

TEST_F(SumBarriers, SumsAllRecordsClassByClassInPartsOfAnySize) {
  for (const std::int64_t at_once : {1, 7, 50, 1000}) {
    const auto sum =
        records.fold(ExactSum(1, 3, 2), at_once, [](ExactSum& so_far, const Sample& some) {
          EXPECT_EQ(some.labels().size(0), some.points.size(0));
          so_far.add(eighths(some));
        });
    EXPECT_TRUE(opened(sum.map([](const ExactSum& one) { return one.value(); })).equal(expected));
  }
  EXPECT_THROW(SumBarrier(door, options(1)).release(records, eighths, 0), InvalidArgument);
}

TEST_F(SumBarriers, ReleaseAllRecordsAsOneGaussian) {
  SumBarrier barrier(door, options(1e-4));
  const Tensor sums = barrier.release(records, eighths, 30);
  EXPECT_EQ(sums.scalar_type(), torch::kDouble);
  EXPECT_LT((sums - expected).abs().max().item<double>(), 1e-3);
  EXPECT_FALSE(sums.equal(expected)) << "it has noise";
  EXPECT_EQ(taken(privacy::Gaussian{1e-4, 1}, "test sum"), 1);
  const Private<Contributions> same(Contributions{torch::ones({4, 2})});
  EXPECT_LT((barrier.release(same)[0] - 4 / std::sqrt(2.0)).abs().max().item<double>(), 1e-3);
  EXPECT_EQ(taken(privacy::Gaussian{1e-4, 1}, "test sum"), 2);
}

TEST_F(SumBarriers, ReleaseASampleAsOneSampledGaussian) {
  SumBarrier barrier(door, options(1e-4));
  SeededBits draws(3);
  const Tensor sums = barrier.release(records.draw(1, draws).map(eighths));
  EXPECT_LT((sums - expected).abs().max().item<double>(), 1e-3);
  barrier.release(records.draw(0.25, draws).map(eighths));
  barrier.release(records.draw(0.25, draws).map(eighths));
  EXPECT_EQ(taken(privacy::SampledGaussian{1, 1e-4, 1}, "test sum"), 1);
  EXPECT_EQ(taken(privacy::SampledGaussian{0.25, 1e-4, 1}, "test sum"), 2);
}

TEST_F(SumBarriers, HaveTheNoiseOfTheirEvent) {
  SumBarrier barrier(door, {.clip_norm = 0.5,
                            .noise_multiplier = 3,
                            .groups = 10,
                            .dimension = 2000,
                            .purpose = "noise"});
  const Tensor noise = barrier.release(drawn(Contributions{torch::zeros({0, 2000})}));
  // 20,000 numbers: 5 standard deviations of their estimate, a false alarm in 10^6.
  EXPECT_NEAR(noise.std().item<double>(), 1.5, 5 * 1.5 / std::sqrt(2 * 20000.0));
}

TEST_F(SumBarriers, OpenNothingBeyondTheBudget) {
  privacy::BudgetGuard strict(ledger, privacy::Budget{Epsilon{1}, Delta{1e-5}}, {.block = 1});
  SeededBits own(7);
  Door narrow(strict, own);
  SumBarrier barrier(narrow, options(0.5));
  EXPECT_THROW(barrier.release(records, eighths), BudgetExceeded);
  EXPECT_THROW(barrier.release(drawn(Contributions{torch::ones({4, 2})}, 0.9)), BudgetExceeded);
  EXPECT_EQ(own(), SeededBits(7)()) << "no noise was drawn: nothing was opened";
  EXPECT_TRUE(ledger.spent().empty());
}

TEST_F(SumBarriers, RefuseNumbersThatCannotBeMeant) {
  const auto refuses = [&](SumOptions changed) {
    EXPECT_THROW(SumBarrier(door, changed), InvalidArgument);
  };
  for (const double wrong : {0.0, -1.0, kNan, kInfinity, 1e-70, 1e70}) {
    SumOptions clip = options(1);
    clip.clip_norm = wrong;
    refuses(clip);
  }
  refuses(options(0));
  refuses(options(kInfinity));
  SumOptions groups = options(1);
  groups.groups = 0;
  refuses(groups);
  SumOptions dimension = options(1);
  dimension.dimension = 0;
  refuses(dimension);
  SumOptions purpose = options(1);
  purpose.purpose.clear();
  refuses(purpose);
  SumBarrier barrier(door, options(1));
  EXPECT_THROW(barrier.release(drawn(Contributions{torch::ones({4, 3})})), Error);
  EXPECT_THROW(barrier.release(drawn(Contributions{torch::ones({4, 2}), torch::ones({3})})), Error);
}

}  // namespace
}  // namespace obol::barrier
