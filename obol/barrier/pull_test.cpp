// What one record can change in a sum of clipped pulls, as computed.
//
// OBOL_PAIRS sets how many pairs of neighbouring samples a sweep compares (default 3,000),
// OBOL_SEED which ones, and OBOL_LARGE=yes adds the samples of up to 200,000 records of a class.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "obol/barrier/barrier.h"
#include "obol/barrier/pull_arithmetic.h"
#include "obol/testing/gpu.h"

namespace obol::barrier {
namespace {

using torch::Tensor;

enum class Kind { kRandom, kCopies, kKnifeEdge, kExtreme };
constexpr Kind kKinds[] = {Kind::kRandom, Kind::kCopies, Kind::kKnifeEdge, Kind::kExtreme};

struct Case {
  Rows rows;
  Tensor points;  // [m, d] of one class
};

Case make_case(Kind kind, std::int64_t m, std::int64_t n, std::int64_t d) {
  Case made{{torch::rand({n, d}), torch::randn({n}), 1}, torch::rand({m, d})};
  if (kind == Kind::kCopies) made.points = torch::rand({1, d}).repeat({m, 1});
  if (kind == Kind::kKnifeEdge) {
    // As far from one row as from another: the least rounding decides which has the share.
    made.rows.potentials.zero_();
    const Tensor middle =
        n > 1 ? (made.rows.points[0] + made.rows.points[1]) / 2 : made.rows.points[0] + 0.5;
    made.points = middle.unsqueeze(0).repeat({m, 1});
    if (m > 1) made.points.slice(0, 0, m / 2) += torch::rand({d}) * 1e-4;
  }
  if (kind == Kind::kExtreme) made.points = (torch::rand({m, d}) - 0.5) * 1e4;
  return made;
}

Sample one_class(const Tensor& points) { return {points, {points.size(0)}}; }

// The same as a GPU has it: with places for `room` records, of which the last are empty.
Sample with_room(const Tensor& points, std::int64_t room) {
  const std::int64_t empty = room - points.size(0);
  return {.points = torch::constant_pad_nd(points, {0, 0, 0, empty}),
          .class_counts = {},
          .present =
              torch::constant_pad_nd(torch::ones({points.size(0)}, points.options()), {0, empty})};
}

// Where sums are computed; the numbers of a case are always drawn on the CPU.
enum class Place { kCpu, kGpu };

// |S(Y) - S(Y without record k)|, both as computed; nothing here waits for a GPU.
Tensor moved_by(const Case& given, Place place, std::int64_t record, double regularization,
                double clip) {
  const bool is_gpu = place == Place::kGpu;
  const auto placed = [&](const Tensor& tensor) {
    return is_gpu ? tensor.to(torch::kCUDA, /*non_blocking=*/true) : tensor;
  };
  const Rows rows{placed(given.rows.points), placed(given.rows.potentials), given.rows.classes};
  const Tensor all = placed(given.points);
  const auto of = [&](const Tensor& points) {
    const Sample sample = is_gpu ? with_room(points, all.size(0) + 3) : one_class(points);
    return exact_pull(rows, sample, regularization, clip);
  };
  const Tensor rest = torch::cat({all.slice(0, 0, record), all.slice(0, record + 1)});
  return (of(all) - of(rest)).norm();
}

std::int64_t number_from(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

void expect_moves_by_at_most_the_clip(Place place) {
  torch::manual_seed(static_cast<std::uint64_t>(number_from("OBOL_SEED", 11)));
  const std::int64_t pairs = number_from("OBOL_PAIRS", 3000);
  constexpr std::int64_t kLookEvery = 64;
  Tensor ratio;
  double largest = 0;
  for (std::int64_t pair = 0; pair < pairs; ++pair) {
    const Kind kind = kKinds[pair % 4];
    const double regularization = std::pow(10.0, -3 + 4 * torch::rand({}).item<double>());
    const double clip = std::pow(10.0, -2 + 3 * torch::rand({}).item<double>());
    const std::int64_t m = 1 + torch::randint(0, 40, {}).item<std::int64_t>();
    const std::int64_t n = 1 + torch::randint(0, 12, {}).item<std::int64_t>();
    const Case given = make_case(kind, m, n, 1 + pair % 64);
    const Tensor moved = moved_by(given, place, pair % m, regularization, clip) / clip;
    ratio = ratio.defined() ? torch::maximum(ratio, moved) : moved;
    if (pair % kLookEvery != kLookEvery - 1 && pair + 1 != pairs) continue;
    largest = ratio.item<double>();
    ASSERT_LE(largest, 1) << "up to pair " << pair;
  }
  EXPECT_GT(largest, 0.999) << "the bound is reached";
  ::testing::Test::RecordProperty("largest_ratio", std::to_string(largest));
  std::printf("%lld pairs: at most %.9f of the bound\n", static_cast<long long>(pairs), largest);
}

// Samples of several blocks, whose later records move from one block to another when an earlier
// one goes.
void expect_moves_by_at_most_the_clip_in_large_samples(Place place) {
  torch::manual_seed(12);
  const bool is_long = std::getenv("OBOL_LARGE") != nullptr;
  const std::vector<std::int64_t> sizes =
      is_long ? std::vector<std::int64_t>{600, 6000, 60'000, 200'000}
              : std::vector<std::int64_t>{600, 5000};
  int samples = 0;
  double largest = 0;
  for (const std::int64_t m : sizes)
    for (const Kind kind : kKinds)
      for (const double regularization : {0.001, 0.05, 1.0, 2.0, 10.0}) {
        const Case given = make_case(kind, m, is_long ? 20 : 5, is_long ? 784 : 64);
        const double ratio = moved_by(given, place, m / 3, regularization, 6).item<double>() / 6;
        largest = std::max(largest, ratio);
        ++samples;
        EXPECT_LE(ratio, 1) << m << " records, regularization " << regularization;
      }
  EXPECT_GT(largest, is_long ? 0.9 : 0.1);
  std::printf("%d large samples: at most %.9f of the bound\n", samples, largest);
}

TEST(Pull, MovesByAtMostTheClipWhateverTheOtherRecordsAre) {
  expect_moves_by_at_most_the_clip(Place::kCpu);
}

TEST(PullGpu, MovesByAtMostTheClipWhateverTheOtherRecordsAre) {
  OBOL_NEEDS_GPU();
  expect_moves_by_at_most_the_clip(Place::kGpu);
}

TEST(Pull, MovesByAtMostTheClipInLargeSamples) {
  expect_moves_by_at_most_the_clip_in_large_samples(Place::kCpu);
}

TEST(PullGpu, MovesByAtMostTheClipInLargeSamples) {
  OBOL_NEEDS_GPU();
  expect_moves_by_at_most_the_clip_in_large_samples(Place::kGpu);
}

// Nothing but a record itself decides what it adds: the sum of two samples' pulls is the pull of
// both together, to the last bit, in any order.
TEST(Pull, OfTwoSamplesAddUpExactly) {
  torch::manual_seed(13);
  for (const Kind kind : kKinds) {
    const Case given = make_case(kind, 5000, 7, 30);
    const auto of = [&](const Tensor& points) {
      return exact_pull(given.rows, one_class(points), 0.5, 2);
    };
    const Tensor whole = of(given.points);
    const Tensor parts = of(given.points.slice(0, 0, 777)) + of(given.points.slice(0, 777));
    EXPECT_TRUE(whole.equal(parts));
    EXPECT_TRUE(whole.equal(of(given.points.index_select(0, torch::randperm(5000)))));
  }
}

// A sample as a GPU has it, with room for records that are not there.
TEST(Pull, IsTheSameToTheLastBitWhereASampleHasEmptyPlaces) {
  torch::manual_seed(14);
  const Rows rows{torch::rand({6, 20}), torch::randn({6}), 2};
  const Tensor first = torch::rand({5, 20});
  const Tensor second = torch::rand({3, 20});
  const Sample plain{torch::cat({first, second}), {5, 3}};
  for (const std::int64_t room : {5, 8, 3000}) {
    const auto padded = [&](const Tensor& points) {
      return torch::cat({points, torch::rand({room - points.size(0), 20})});
    };
    const auto there = [&](std::int64_t count) {
      return torch::cat({torch::ones({count}), torch::zeros({room - count})});
    };
    const Sample roomy{.points = torch::cat({padded(first), padded(second)}),
                       .class_counts = {},
                       .present = torch::cat({there(5), there(3)})};
    EXPECT_TRUE(exact_pull(rows, plain, 1, 0.3).equal(exact_pull(rows, roomy, 1, 0.3))) << room;
  }
}

TEST(Pull, OfARecordThatIsNotFiniteIsZeroAndThatOfOthersIsNot) {
  torch::manual_seed(15);
  const Rows rows{torch::rand({4, 6}), torch::randn({4}), 1};
  const Tensor points = torch::rand({3, 6});
  for (const float value :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    Tensor odd = torch::rand({1, 6});
    odd[0][2] = value;
    const Tensor with = torch::cat({points.slice(0, 0, 1), odd, points.slice(0, 1)});
    EXPECT_TRUE(exact_pull(rows, one_class(with), 1, 0.5)
                    .equal(exact_pull(rows, one_class(points), 1, 0.5)));
  }
}

TEST(Pull, ByPotentialsThatAreNotFiniteIsFinite) {
  const Tensor potentials = torch::full({4}, std::numeric_limits<double>::quiet_NaN());
  const Rows rows{torch::rand({4, 6}), potentials, 1};
  EXPECT_TRUE(
      exact_pull(rows, one_class(torch::rand({3, 6})), 1, 0.5).isfinite().all().item<bool>());
}

TEST(PullGrid, HoldsProductsAndSumsInADouble) {
  for (std::int64_t dimension = 1; dimension < (std::int64_t{1} << 22);
       dimension = dimension * 3 + 1) {
    const PullGrid grid = pull_grid(dimension);
    EXPECT_GE(grid.point_bits, 8) << dimension;
    const double coordinate = kLargestCoordinate / grid.point_unit();
    EXPECT_LE(4 * static_cast<double>(dimension) * coordinate * coordinate, 0x1p53) << dimension;
    const double block = static_cast<double>(kBlockRecords) * 2 * kLargestCoordinate;
    EXPECT_LE(block / grid.sum_unit(), 0x1p53) << dimension;
    EXPECT_LE(kLargestSum / grid.sum_unit(), 0x1p53) << dimension;
    EXPECT_LE(kMostClippedSum / grid.sum_unit(), 0x1p63) << dimension;
  }
}

}  // namespace
}  // namespace obol::barrier
