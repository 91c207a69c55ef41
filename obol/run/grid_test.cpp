#include "obol/run/grid.h"

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::run {
namespace {

constexpr int kLine = 208;

int pixel(const data::Picture& picture, std::int64_t c, std::int64_t y, std::int64_t x) {
  const data::ImageShape& shape = picture.shape;
  return picture.pixels.at(static_cast<std::size_t>((c * shape.height + y) * shape.width + x));
}

TEST(Grid, PutsPicturesRowByRowEnlargedByAWholeNumber) {
  // Five pictures of 1x2 pixels in three columns: the last place is left over.
  const data::Picture picture =
      grid({.shape = {1, 1, 2}, .pixels = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, .columns = 3});
  const std::int64_t factor = 99;  // (600 - 4 * 2) / 6, rounded up
  EXPECT_EQ(picture.shape, (data::ImageShape{1, 2 * factor + 6, 6 * factor + 8}));
  EXPECT_GE(picture.shape.width, 600);
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::int64_t y = 2 + i / 3 * (factor + 2);
    const std::int64_t x = 2 + i % 3 * (2 * factor + 2);
    EXPECT_EQ(pixel(picture, 0, y - 1, x - 1), kLine);
    EXPECT_EQ(pixel(picture, 0, y, x), 2 * i);
    EXPECT_EQ(pixel(picture, 0, y + factor - 1, x + factor - 1), 2 * i);
    EXPECT_EQ(pixel(picture, 0, y, x + factor), 2 * i + 1);
    EXPECT_EQ(pixel(picture, 0, y + factor - 1, x + 2 * factor - 1), 2 * i + 1);
    EXPECT_EQ(pixel(picture, 0, y + factor, x + 2 * factor), kLine);
  }
  EXPECT_EQ(pixel(picture, 0, 2 + factor + 2, 2 + 2 * (2 * factor + 2)), kLine);
}

TEST(Grid, KeepsColours) {
  const data::Picture picture = grid({.shape = {3, 1, 1}, .pixels = {10, 20, 30}, .columns = 10});
  EXPECT_EQ(picture.shape.channels, 3);
  for (std::int64_t c = 0; c < 3; ++c) EXPECT_EQ(pixel(picture, c, 300, 300), 10 * (c + 1));
}

TEST(Grid, ThatIsWideEnoughIsNotEnlarged) {
  const data::Picture picture =
      grid({.shape = {1, 1, 800}, .pixels = std::vector<std::uint8_t>(800), .columns = 1});
  EXPECT_EQ(picture.shape, (data::ImageShape{1, 5, 804}));
}

TEST(Grid, RefusesWhatIsNoRowOfPictures) {
  EXPECT_THROW(grid({.shape = {1, 2, 2}, .pixels = {1, 2, 3}}), InvalidArgument);
  EXPECT_THROW(grid({.shape = {1, 2, 2}, .pixels = {}}), InvalidArgument);
  EXPECT_THROW(grid({.shape = {2, 1, 1}, .pixels = {1, 2}}), InvalidArgument);
  EXPECT_THROW(grid({.shape = {1, 1, 1}, .pixels = {1}, .columns = 0}), InvalidArgument);
}

}  // namespace
}  // namespace obol::run
