#include "obol/evaluate/junk.h"

#include <cmath>
#include <filesystem>

#include <gtest/gtest.h>

#include "obol/base/file.h"
#include "obol/data/reader.h"
#include "obol/evaluate/downstream.h"
#include "obol/evaluate/features.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

Tensor on_a_line(std::vector<float> places) {
  const auto count = static_cast<std::int64_t>(places.size());
  return torch::tensor(at::ArrayRef<float>(places)).view({count, 1});
}

ClassedPoints of_one_class(const Tensor& points) {
  return {{points}, torch::zeros({points.size(0)}, torch::kLong)};
}

// 60 places, one apart, but for the last, which is two apart.
Tensor sixty() {
  Tensor places = at::arange(60, at::kFloat);
  places[59] = 60;
  return places.view({60, 1});
}

TEST(Junk, LiesFurtherFromRealImagesThanTheirLargestDistanceWhereTheyAreFew) {
  const auto found =
      junk(of_one_class(sixty()), of_one_class(on_a_line({61.9F, 62.1F, -2.5F, 30.2F})), 1);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->rate, 0.5);
  EXPECT_DOUBLE_EQ(found->expected_of_real, 1.0 / 61);
}

TEST(Junk, LeavesOneInAThousandRealImagesBeyondTheLimit) {
  Tensor places = at::arange(2000, at::kFloat);
  places[1998] = 3000;  // these two are further from all others than the rest
  places[1999] = 4000;
  const auto found = junk(of_one_class(places.view({2000, 1})),
                          of_one_class(on_a_line({1998.5F, 1997.5F, -0.9F, 0})), 1);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->rate, 0.25);
  EXPECT_DOUBLE_EQ(found->expected_of_real, 3.0 / 2001);
}

TEST(Junk, IsWhatBelongsToAnotherClass) {
  const Tensor places = torch::cat({sixty(), sixty() + 1000});
  const Tensor labels = at::arange(120, at::kLong).ge(60).to(at::kLong);
  const ClassedPoints made{{on_a_line({5.5F, 1005.5F, 1006.5F})},
                           torch::tensor({0, 0, 1}, at::kLong)};
  const auto found = junk({{places}, labels}, made, 3);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->rate, 1.0 / 3);
  ASSERT_EQ(found->per_class.size(), 3U);
  EXPECT_DOUBLE_EQ(found->per_class[0], 0.5);
  EXPECT_DOUBLE_EQ(found->per_class[1], 0);
  EXPECT_TRUE(std::isnan(found->per_class[2])) << "there is no image of it";
}

TEST(Junk, MayShowInOneSpaceAloneWhateverItsUnit) {
  const Tensor real = sixty();
  const Tensor usual = on_a_line({3.5F, 4.5F});
  const Tensor odd = on_a_line({3.5F, 70});
  const auto rate = [&](const Tensor& first, const Tensor& second) {
    const ClassedPoints made{{first, 1e-3F * second}, torch::zeros({2}, torch::kLong)};
    return junk({{real, 1e-3F * real}, torch::zeros({60}, torch::kLong)}, made, 1)->rate;
  };
  EXPECT_DOUBLE_EQ(rate(usual, usual), 0);
  EXPECT_DOUBLE_EQ(rate(odd, usual), 0.5);
  EXPECT_DOUBLE_EQ(rate(usual, odd), 0.5);
}

TEST(Junk, IsNotLookedForAmongTooFewImages) {
  const ClassedPoints made = of_one_class(on_a_line({1, 2}));
  EXPECT_FALSE(junk(of_one_class(sixty().slice(0, 0, kFewestForJunk - 1)), made, 1));
  EXPECT_TRUE(junk(of_one_class(sixty().slice(0, 0, kFewestForJunk)), made, 1));
  const Tensor alone = at::arange(60, at::kLong);  // each of a class of its own
  EXPECT_FALSE(junk({{sixty()}, alone}, made, 60));
  const ClassedPoints of_another{made.spaces, torch::ones({2}, torch::kLong)};
  EXPECT_FALSE(junk(of_one_class(sixty()), of_another, 2));
}

TEST(Junk, IsNoCopyOfAnImageThatAllRealOnesAre) {
  const Tensor same = torch::zeros({60, 1});
  EXPECT_DOUBLE_EQ(junk(of_one_class(same), of_one_class(on_a_line({0, 1})), 1)->rate, 0.5);
}

// What Debian's package holds; elsewhere this test is skipped.
class JunkOnFashion : public testing::Test {
 protected:
  void SetUp() override {
    const Path folder = "/usr/share/datasets/fashion-mnist";
    if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
    const LabelledImages all =
        some_of(to_tensors(data::read(folder.string(), {.split = data::Split::kTest})), 3400, 1);
    const auto part = [&](std::int64_t from, std::int64_t to) {
      return LabelledImages{all.images.slice(0, from, to), all.labels.slice(0, from, to)};
    };
    space_.emplace(part(0, 600), DownstreamOptions{.seed = 1});
    real_ = points(part(600, 2000));
    other_ = part(2000, 3400);
  }

  [[nodiscard]] ClassedPoints points(const LabelledImages& images) const {
    return {junk_spaces((*space_)(images.images).features, images.images), images.labels};
  }
  [[nodiscard]] double rate(const LabelledImages& images) const {
    return junk(real_, points(images), 10)->rate;
  }

  std::optional<FeatureSpace> space_;
  ClassedPoints real_;
  LabelledImages other_;
};

// Black and white blots of some pixels each.
Tensor blots(std::int64_t count) {
  const Tensor coarse = torch::rand({count, 1, 7, 7});
  return torch::upsample_bilinear2d(coarse, {28, 28}, false).gt(0.5).to(torch::kFloat);
}

TEST_F(JunkOnFashion, IsWhatWasPlantedAndHardlyARealImage) {
  torch::manual_seed(2);
  // 2 of 1401 are expected; more than 14 of 1,400 has a probability of 3e-4 (beta-binomial), and
  // the seeds are fixed.
  EXPECT_LT(rate(other_), 0.01);
  const Tensor labels = other_.labels.slice(0, 0, 300);
  const auto is_junk = [&](const Tensor& images) { return rate({images, labels}); };
  EXPECT_GT(is_junk(blots(300)), 0.95);
  EXPECT_GT(is_junk(torch::rand({300, 1, 28, 28})), 0.9);
  EXPECT_GT(is_junk(torch::ones({300, 1, 28, 28})), 0.9);
  // Shoes (5, 7, 9) that are called pullovers (2).
  const Tensor shoes =
      torch::logical_and(other_.labels.ge(5), other_.labels.remainder(2).eq(1)).nonzero().flatten();
  LabelledImages called_pullovers = rows_of(other_, shoes);
  called_pullovers.labels.fill_(2);
  EXPECT_GT(rate(called_pullovers), 0.8);
}

}  // namespace
}  // namespace obol::evaluate
