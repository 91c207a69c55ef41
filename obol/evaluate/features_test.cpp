#include "obol/evaluate/features.h"

#include <filesystem>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/base/file.h"
#include "obol/data/reader.h"
#include "obol/evaluate/frechet.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

TEST(InceptionScore, IsTheNumberOfClassesAtItsBestAndOneAtItsWorst) {
  const Tensor sure = torch::eye(5).repeat({20, 1});
  EXPECT_NEAR(inception_score(sure, 1).value, 5, 1e-9);
  EXPECT_NEAR(inception_score(sure).deviation, 0, 1e-9);
  EXPECT_NEAR(inception_score(torch::full({100, 5}, 0.2)).value, 1, 1e-6);
  EXPECT_NEAR(inception_score(torch::eye(5).slice(0, 0, 1).repeat({20, 1})).value, 1, 1e-9);
  EXPECT_THROW(inception_score(torch::eye(5), 10), InvalidArgument);
}

// Six real points on a line; neighbourhoods reach to the next one.
TEST(Overlap, CountsAsThePapersDo) {
  const OverlapOptions one{.precision_neighbours = 1, .density_neighbours = 1};
  const Tensor real = at::arange(6, at::kFloat).view({6, 1});
  const Tensor synthetic = torch::tensor({0.5F, 0.6F, 9.0F, 9.5F}).view({4, 1});
  const Overlap found = overlap(real, synthetic, one);
  EXPECT_NEAR(found.precision, 0.5, 1e-12);
  EXPECT_NEAR(found.recall, 0, 1e-12);         // 0.5 and 0.6 reach no further than each other
  EXPECT_NEAR(found.density, 4.0 / 4, 1e-12);  // 0.5 and 0.6 are near 0 and near 1
  EXPECT_NEAR(found.coverage, 2.0 / 6, 1e-12);
  const Overlap same = overlap(real, real, one);
  EXPECT_EQ(same.precision, 1);
  EXPECT_EQ(same.recall, 1);
  EXPECT_EQ(same.coverage, 1);
  EXPECT_THROW(overlap(real, synthetic.slice(0, 0, 1), one), InvalidArgument);
}

TEST(Overlap, OfTwoSamplesOfOneSourceIsNearlyWhole) {
  torch::manual_seed(1);
  const Overlap found = overlap(torch::randn({1500, 4}), torch::randn({1500, 4}));
  EXPECT_GT(found.precision, 0.85);
  EXPECT_GT(found.recall, 0.85);
  EXPECT_NEAR(found.density, 1, 0.05);
  EXPECT_GT(found.coverage, 0.93);
}

// What Debian's package holds; elsewhere these tests are skipped.
class OnFashion : public testing::Test {
 protected:
  void SetUp() override {
    const Path folder = "/usr/share/datasets/fashion-mnist";
    if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << folder << " is not there";
    const LabelledImages all =
        some_of(to_tensors(data::read(folder.string(), {.split = data::Split::kTest})), 3000, 1);
    const auto part = [&](std::int64_t from, std::int64_t to) {
      return LabelledImages{all.images.slice(0, from, to), all.labels.slice(0, from, to)};
    };
    space_.emplace(part(0, 1000), DownstreamOptions{.seed = 1});
    real_ = moments_of((*space_)(part(1000, 2000).images).features);
    other_ = part(2000, 3000);
  }

  double distance(const Tensor& images) {
    return frechet_distance(real_, moments_of((*space_)(images).features));
  }

  std::optional<FeatureSpace> space_;
  Moments real_;
  LabelledImages other_;
};

TEST_F(OnFashion, ClassifierFidIsNearZeroBetweenRealImagesAndGrowsWithWhatIsWrong) {
  const double between_real = distance(other_.images);
  std::vector<std::vector<double>> worse(3, {between_real});
  for (const double level : {0.1, 0.2, 0.4})
    worse[0].push_back(
        distance((other_.images + level * torch::randn_like(other_.images)).clamp(0, 1)));
  for (const std::int64_t side : {3, 5, 9})
    worse[1].push_back(distance(torch::avg_pool2d(other_.images, side, 1, side / 2)));
  for (const std::int64_t classes : {8, 5, 2})
    worse[2].push_back(
        distance(other_.images.index_select(0, other_.labels.lt(classes).nonzero().flatten())));
  for (const std::vector<double>& series : worse) {
    EXPECT_LT(10 * series[0], series[2]);
    for (std::size_t k = 1; k < series.size(); ++k) EXPECT_LT(series[k - 1], series[k]) << k;
  }
}

}  // namespace
}  // namespace obol::evaluate
