#include "obol/features/group_norm.h"

#include <cmath>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::features {
namespace {

using torch::Tensor;

TEST(GroupNorm, HasGroupsOfThreeChannelsWhereThatWorksOut) {
  EXPECT_EQ(groups_for(81), 27);
  EXPECT_EQ(groups_for(243), 81);
  EXPECT_EQ(groups_for(51), 17);
  EXPECT_EQ(groups_for(34), 2);  // of 17
  EXPECT_EQ(groups_for(17), 1);
  EXPECT_EQ(groups_for(2), 1);
  EXPECT_EQ(groups_for(1), 1);
}

TEST(GroupNorm, IsThatOfTheFormula) {
  torch::manual_seed(1);
  const Tensor maps = torch::randn({3, 6, 2, 5}, torch::kDouble) * 4 + 1;
  const Tensor rows = group_normalized(maps, 2);
  for (const std::int64_t record : {0, 1, 2})
    for (const std::int64_t group : {0, 1}) {
      const Tensor values = maps[record].narrow(0, 3 * group, 3).flatten();
      const Tensor centred = values - values.mean();
      const Tensor expected =
          centred / (centred.square().mean() + 1e-5).sqrt() / std::sqrt(6.0 * 2 * 5);
      EXPECT_TRUE(torch::allclose(rows[record].narrow(0, 30 * group, 30), expected, 1e-10, 0));
    }
}

TEST(GroupNorm, HasRowsOfLengthOneAtMost) {
  torch::manual_seed(2);
  const Tensor maps = torch::randn({20, 81, 7, 7});
  const Tensor norms = group_normalized(maps, 27).norm(2, {1});
  EXPECT_TRUE(torch::allclose(norms, torch::ones({20}), 1e-4, 0));
  // Where there is less than 1e-5 to see, the row is short instead of amplified.
  const Tensor faint = group_normalized(maps * 1e-4, 27).norm(2, {1});
  EXPECT_LT(faint.max().item<double>(), 0.05);
  EXPECT_EQ(group_normalized(torch::ones({1, 3, 2, 2}), 1).abs().max().item<double>(), 0);
}

TEST(GroupNorm, OfRecordsIsTheSame) {
  torch::manual_seed(3);
  const Tensor maps = torch::rand({9, 81, 7, 7});
  EXPECT_TRUE(
      torch::allclose(group_normalized_records(maps, 27), group_normalized(maps, 27), 0, 1e-6));
  EXPECT_TRUE(group_normalized_records(maps.contiguous(at::MemoryFormat::ChannelsLast), 27)
                  .equal(group_normalized_records(maps, 27)));
}

TEST(GroupNorm, OfARecordIsTheSameToTheLastBitWhereverItLies) {
  torch::manual_seed(4);
  Tensor maps = torch::rand({37, 17, 3, 5});
  const Tensor all = group_normalized_records(maps, 17);
  for (const std::int64_t from : {1, 5, 36}) {
    EXPECT_TRUE(group_normalized_records(maps.slice(0, from), 17).equal(all.slice(0, from)));
    EXPECT_TRUE(group_normalized_records(maps.slice(0, from, from + 1), 17)
                    .equal(all.slice(0, from, from + 1)));
  }
  maps[7][0][0][0] = std::nanf("");
  const Tensor spoiled = group_normalized_records(maps, 17);
  EXPECT_TRUE(spoiled.slice(0, 8).equal(all.slice(0, 8)));
  EXPECT_TRUE(spoiled.slice(0, 0, 7).equal(all.slice(0, 0, 7)));
  EXPECT_TRUE(spoiled[7].isnan().any().item<bool>());
}

TEST(GroupNorm, HasTheGradientOfFiniteDifferences) {
  torch::manual_seed(5);
  const Tensor x = torch::randn({1, 4, 2, 2}, torch::kDouble).requires_grad_();
  const Tensor direction = torch::randn({1, 16}, torch::kDouble);
  const auto value = [&](const Tensor& maps) {
    return (group_normalized(maps, 2) * direction).sum();
  };
  const Tensor gradient = torch::autograd::grad({value(x)}, {x})[0].flatten();
  constexpr double kStep = 1e-5;
  for (std::int64_t k = 0; k < 16; ++k) {
    const torch::NoGradGuard no_grad;
    Tensor moved = torch::zeros({16}, torch::kDouble);
    moved[k] = kStep;
    moved = moved.view_as(x);
    const double slope = (value(x + moved) - value(x - moved)).item<double>() / (2 * kStep);
    EXPECT_NEAR(gradient[k].item<double>(), slope, 1e-8);
  }
}

TEST(GroupNorm, RefusesGroupsThatDoNotDivideTheChannels) {
  EXPECT_THROW(group_normalized(torch::rand({1, 17, 2, 2}), 3), InvalidArgument);
  EXPECT_THROW(group_normalized_records(torch::rand({1, 17, 2, 2}), 0), InvalidArgument);
  EXPECT_THROW(group_normalized(torch::rand({1, 17}), 1), InvalidArgument);
}

}  // namespace
}  // namespace obol::features
