#include "obol/features/patches.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::features {
namespace {

using data::ImageShape;
using torch::Tensor;

constexpr ImageShape kGrey{.channels = 1, .height = 8, .width = 12};
constexpr ImageShape kColour{.channels = 3, .height = 9, .width = 6};

Tensor some_images(std::int64_t count, const ImageShape& shape) {
  return torch::rand({count, shape.pixels()});
}

// A black image has phases of 0; a pixel that moves by a cell takes its features with it.
TEST(PatchFeatures, AreMeansOfCosinesAndSinesOverCells) {
  const PatchFeatures features(kGrey, {.count = 1, .side = 3, .frequencies = {1.5}});
  EXPECT_EQ(features.dimension(), 2 * 2 * 3);
  const auto cells_of = [&](const Tensor& image) {
    return features.of_records(image.view({1, -1})).view({2, 2, 3}) * std::sqrt(6.0);
  };
  const Tensor black = cells_of(torch::zeros({8, 12}));
  EXPECT_LT((black[0] - 1).abs().max().item<double>(), 1e-7);
  EXPECT_LT(black[1].abs().max().item<double>(), 1e-7);
  const auto with_pixel = [&](std::int64_t column) {
    Tensor image = torch::zeros({8, 12});
    image[5][column] = 1;
    return cells_of(image);
  };
  const Tensor left = with_pixel(2);
  const Tensor right = with_pixel(6);
  EXPECT_TRUE(left.select(2, 0).equal(right.select(2, 1)));
  EXPECT_TRUE(left.select(2, 1).equal(right.select(2, 2)));
  EXPECT_TRUE(left.select(1, 0).equal(black.select(1, 0)))
      << "no window of the upper cells sees it";
  EXPECT_GT((left - black)[1][1][0].abs().item<double>(), 1e-3);
}

TEST(PatchFeatures, HaveLengthOneAtMost) {
  torch::manual_seed(1);
  for (const ImageShape& shape : {kGrey, kColour}) {
    const PatchFeatures features(shape, {.count = 6, .side = 5, .frequencies = {1, 30}});
    const Tensor images = torch::cat({some_images(20, shape), torch::ones({1, shape.pixels()}),
                                      torch::full({1, shape.pixels()}, 1e9)});
    EXPECT_LE(features.of_records(images).norm(2, {1}).max().item<double>(), 1 + 1e-9);
  }
}

TEST(PatchFeatures, OfRecordsAreThoseThatCanBeDifferentiated) {
  torch::manual_seed(2);
  for (const ImageShape& shape : {kGrey, kColour}) {
    const PatchFeatures features(shape, {.count = 8, .side = 5, .frequencies = {0.5, 4}});
    const Tensor images = some_images(37, shape);
    const Tensor exact = features.of_records(images);
    EXPECT_LT((features(images).to(torch::kDouble) - exact).abs().max().item<double>(), 2e-5);
    EXPECT_LT((features(images.to(torch::kDouble)) - exact).abs().max().item<double>(), 2e-5);
  }
}

TEST(PatchFeatures, HaveTheGradientOfFiniteDifferences) {
  torch::manual_seed(3);
  const PatchFeatures features(kColour, {.count = 2, .side = 3, .frequencies = {1}});
  const Tensor x = some_images(1, kColour).to(torch::kDouble).requires_grad_();
  const Tensor direction = torch::randn({features.dimension()}, torch::kDouble);
  const auto value = [&](const Tensor& images) { return (features(images) * direction).sum(); };
  const Tensor gradient = torch::autograd::grad({value(x)}, {x})[0][0];
  constexpr double kStep = 1e-5;
  for (std::int64_t pixel = 0; pixel < kColour.pixels(); pixel += 7) {
    const torch::NoGradGuard no_grad;
    Tensor moved = torch::zeros({1, kColour.pixels()}, torch::kDouble);
    moved[0][pixel] = kStep;
    const double slope = (value(x + moved) - value(x - moved)).item<double>() / (2 * kStep);
    EXPECT_NEAR(gradient[pixel].item<double>(), slope, 1e-6);
  }
}

// What a sum of records with a proved sensitivity rests on.
TEST(PatchFeatures, OfARecordAreTheSameToTheLastBitWhereverItLies) {
  torch::manual_seed(4);
  for (const ImageShape& shape : {kGrey, kColour}) {
    const PatchFeatures features(shape, {.count = 7, .side = 5, .frequencies = {2}});
    const Tensor images = some_images(37, shape);
    const Tensor all = features.of_records(images);
    for (const std::int64_t from : {0, 1, 15, 20, 36}) {
      EXPECT_TRUE(features.of_records(images.slice(0, from)).equal(all.slice(0, from)));
      const Tensor alone = images.slice(0, from, from + 1);
      EXPECT_TRUE(features.of_records(alone).equal(all.slice(0, from, from + 1)));
    }
    EXPECT_TRUE(features.of_records(images.flip(0)).equal(all.flip(0)));
  }
}

TEST(PatchFeatures, KeepWhatIsNotFiniteInItsOwnRow) {
  torch::manual_seed(5);
  const PatchFeatures features(kGrey, {.count = 4, .side = 5, .frequencies = {2}});
  Tensor images = some_images(20, kGrey);
  const Tensor expected = features.of_records(images);
  images[3][7] = std::numeric_limits<float>::quiet_NaN();
  const Tensor rows = features.of_records(images);
  EXPECT_FALSE(rows[3].isfinite().all().item<bool>());
  EXPECT_TRUE(rows.slice(0, 0, 3).equal(expected.slice(0, 0, 3)));
  EXPECT_TRUE(rows.slice(0, 4).equal(expected.slice(0, 4)));
}

// A grating and the same moved by half a wave have equal moduli; windows tell them apart, as they
// do a chessboard of single pixels from grey.
TEST(PatchFeatures, SeeTextureAndPhase) {
  const ImageShape shape{.channels = 1, .height = 16, .width = 16};
  const PatchFeatures features(shape, {.count = 200, .side = 5, .frequencies = {2}});
  const Tensor place = torch::arange(16);
  const Tensor board = (place.unsqueeze(0) + place.unsqueeze(1)).remainder(2).to(torch::kFloat);
  const Tensor rows = features.of_records(
      torch::stack({board.flatten(), 1 - board.flatten(), torch::full({256}, 0.5F)}));
  EXPECT_GT((rows[0] - rows[2]).norm().item<double>(), 0.5);
  EXPECT_GT((rows[1] - rows[2]).norm().item<double>(), 0.5);
}

TEST(PatchFeatures, RefuseWhatTheyAreNotMadeFor) {
  const auto with = [](std::int64_t count, std::int64_t side, std::vector<double> frequencies) {
    return PatchFeatures(kGrey, {.count = count, .side = side, .frequencies = frequencies});
  };
  EXPECT_THROW(with(4, 4, {1}), InvalidArgument);
  EXPECT_THROW(with(3, 5, {1, 2}), InvalidArgument);
  EXPECT_THROW(with(4, 5, {-1}), InvalidArgument);
  EXPECT_THROW(static_cast<void>(with(4, 5, {1})(torch::rand({2, 5}))), InvalidArgument);
}

TEST(PatchFeaturesGpu, AreThoseOfTheCpu) {
  torch::manual_seed(6);
  for (const ImageShape& shape : {kGrey, kColour}) {
    const PatchFeatures features(
        shape, {.count = 8, .side = 5, .frequencies = {0.5, 4}, .device = torch::kCUDA});
    const Tensor images = some_images(37, shape);
    const Tensor exact = features.of_records(images);
    const Tensor there = features(images.cuda()).cpu().to(torch::kDouble);
    EXPECT_LT((there - exact).abs().max().item<double>(), 2e-5);
    EXPECT_TRUE(features.of_records(images.cuda()).cpu().equal(exact));
  }
}

}  // namespace
}  // namespace obol::features
