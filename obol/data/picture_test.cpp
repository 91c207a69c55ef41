#include "obol/data/picture.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/codecs.h"
#include "obol/data/testing.h"

namespace obol::data {
namespace {

using testing::big_endian;
using testing::in_memory;
using testing::plain_picture;
using testing::png;
using testing::png_chunk;
using testing::refusal;
using testing::says;

using Values = std::vector<std::uint8_t>;

Picture gradient(const ImageShape& shape) {
  Picture picture = plain_picture(shape, 0);
  for (std::int64_t c = 0; c < shape.channels; ++c)
    for (std::int64_t y = 0; y < shape.height; ++y)
      for (std::int64_t x = 0; x < shape.width; ++x)
        picture.pixels[static_cast<std::size_t>((c * shape.height + y) * shape.width + x)] =
            static_cast<std::uint8_t>((x * 5 + y * 3 + c * 60) % 256);
  return picture;
}

Picture grey(std::int64_t height, std::int64_t width, Values pixels) {
  return {{.channels = 1, .height = height, .width = width}, std::move(pixels)};
}

[[maybe_unused]] Picture decoded(const std::string& file) { return decode(in_memory(file)); }

std::string picture_refusal(const std::string& file, const ReadLimits& limits = {}) {
  return refusal([&] { (void)decode(in_memory(file), limits); });
}

TEST(Picture, IsRefusedUnlessPngOrJpeg) {
  for (const std::string file : {"", "GIF89a and so on", "\x89PNG", "\xff\xd8"})
    EXPECT_TRUE(says(picture_refusal(file), {"PNG or JPEG", "test.bin"}));
}

#if OBOL_HAS_PNG

TEST(Png, IsReadBackAsWritten) {
  for (const std::int64_t channels : {1, 3}) {
    for (const std::int64_t side : {1, 2, 17}) {
      const Picture picture = gradient({.channels = channels, .height = side, .width = side + 3});
      const TemporaryFolder folder;
      write_png(picture, folder.path() / "a.png");
      const Picture back = decode(FileBytes(folder.path() / "a.png"));
      EXPECT_EQ(back.shape, picture.shape);
      EXPECT_EQ(back.pixels, picture.pixels);
      EXPECT_EQ(decode_shape(FileBytes(folder.path() / "a.png")), picture.shape);
    }
  }
}

TEST(Png, OfOthersIsReadChannelsFirst) {
  const std::string file = png({.width = 2, .height = 1, .depth = 8, .colour_type = 2},
                               std::string("\0\1\2\3\4\5\6", 7));
  EXPECT_EQ(decoded(file).pixels, (Values{1, 4, 2, 5, 3, 6}));
}

TEST(Png, WithSixteenBitsKeepsTheUpperEight) {
  const std::string grey_file = png({.width = 3, .height = 1, .depth = 16, .colour_type = 0},
                                    '\0' + big_endian(0x0000'8080'ffff, 6));
  EXPECT_EQ(decoded(grey_file).shape, (ImageShape{.channels = 1, .height = 1, .width = 3}));
  EXPECT_EQ(decoded(grey_file).pixels, (Values{0, 0x80, 255}));
  const std::string colour_file = png({.width = 1, .height = 1, .depth = 16, .colour_type = 2},
                                      '\0' + big_endian(0x4040'8080'c0c0, 6));
  EXPECT_EQ(decoded(colour_file).pixels, (Values{0x40, 0x80, 0xc0}));
}

// ImageMagick and others write this chunk into every grey picture.
TEST(Png, WithTheUsualGammaKeepsItsValues) {
  std::string row(1, '\0');
  Values expected;
  for (int i = 0; i < 256; ++i) {
    row += static_cast<char>(i);
    expected.push_back(static_cast<std::uint8_t>(i));
  }
  const std::string file = png({.width = 256, .height = 1, .depth = 8, .colour_type = 0}, row,
                               png_chunk("gAMA", big_endian(45455, 4)));
  EXPECT_EQ(decoded(file).pixels, expected);
}

TEST(Png, WithAPaletteIsRead) {
  const std::string palette = png_chunk("PLTE", std::string("\x0a\x14\x1e\xc8\xd2\xdc", 6));
  const std::string file = png({.width = 2, .height = 1, .depth = 8, .colour_type = 3},
                               std::string("\0\1\0", 3), palette);
  EXPECT_EQ(decoded(file).pixels, (Values{200, 10, 210, 20, 220, 30}));
}

TEST(Png, WithOneBitAPixelIsBlackAndWhite) {
  const std::string file =
      png({.width = 3, .height = 1, .depth = 1, .colour_type = 0}, std::string("\0\xa0", 2));
  EXPECT_EQ(decoded(file).pixels, (Values{255, 0, 255}));
}

TEST(Png, WithTransparencyIsLaidOnBlack) {
  const std::string grey_file = png({.width = 3, .height = 1, .depth = 8, .colour_type = 4},
                                    std::string("\0\xc8\xff\xc8\x80\xc8\0", 7));
  const Picture grey_picture = decoded(grey_file);
  ASSERT_EQ(grey_picture.pixels.size(), 3U);
  EXPECT_EQ(grey_picture.pixels[0], 200);
  EXPECT_GT(grey_picture.pixels[1], 0);
  EXPECT_LT(grey_picture.pixels[1], 200);
  EXPECT_EQ(grey_picture.pixels[2], 0);
  const std::string colour_file = png({.width = 2, .height = 1, .depth = 8, .colour_type = 6},
                                      std::string("\0\x0a\x14\x1e\xff\xff\xff\xff\0", 9));
  EXPECT_EQ(decoded(colour_file).pixels, (Values{10, 0, 20, 0, 30, 0}));
}

TEST(Png, IsRefusedWhenCutOffInsideItsPixels) {
  const Picture picture = gradient({.channels = 3, .height = 9, .width = 7});
  const std::string whole = png(picture);
  // What follows the pixels (sums and IEND) says nothing about them.
  const std::size_t pixels_end = whole.size() - 12 - 4 - 4;
  for (std::size_t length = 0; length < pixels_end; ++length)
    EXPECT_TRUE(says(picture_refusal(whole.substr(0, length)), {"test.bin"})) << length;
  for (std::size_t length = pixels_end; length < whole.size(); ++length) try {
      EXPECT_EQ(decoded(whole.substr(0, length)).pixels, picture.pixels);
    } catch (const DataError& error) {
      EXPECT_TRUE(says(error.what(), {"test.bin"}));
    }
}

TEST(Png, WithAChangedByteIsRefusedOrTheSamePicture) {
  const Picture picture = gradient({.channels = 1, .height = 9, .width = 7});
  const std::string whole = png(picture);
  int num_refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      try {
        EXPECT_EQ(decoded(damaged).pixels, picture.pixels) << at;
      } catch (const DataError& error) {
        EXPECT_TRUE(says(error.what(), {"test.bin"}));
        ++num_refused;
      }
    }
  }
  EXPECT_GT(num_refused, static_cast<int>(whole.size()));
}

TEST(Png, WhoseHeaderClaimsMoreThanItsFileCanHoldIsRefused) {
  for (const int colour_type : {0, 2}) {
    const std::string file =
        png({.width = 60000, .height = 60000, .depth = 8, .colour_type = colour_type}, "tiny");
    EXPECT_TRUE(says(picture_refusal(file), {"60000x60000", "what its file can hold", "test.bin"}));
  }
  const std::string file = png(plain_picture({.channels = 1, .height = 10, .width = 10}, 7));
  EXPECT_TRUE(says(picture_refusal(file, {.max_bytes = 99}), {"test.bin"}));
  EXPECT_EQ(decode(in_memory(file), {.max_bytes = 100}).pixels.size(), 100U);
}

TEST(Png, ThatIsLargeButHonestlyPackedIsRead) {
  const Picture white = plain_picture({.channels = 1, .height = 1000, .width = 1000}, 255);
  const std::string file = png(white);
  ASSERT_LT(file.size(), 3000U);
  EXPECT_EQ(decoded(file).pixels, white.pixels);
}

TEST(Png, IsWrittenTheSameEveryTime) {
  const Picture picture = gradient({.channels = 1, .height = 5, .width = 5});
  EXPECT_EQ(encode_png(picture.pixels, picture.shape), encode_png(picture.pixels, picture.shape));
}

#endif

#if OBOL_HAS_JPEG

using testing::jpeg;

int largest_difference(const Values& a, const Values& b) {
  int largest = a.size() == b.size() ? 0 : 1000;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(Jpeg, IsReadWithinItsLoss) {
  for (const bool is_progressive : {false, true}) {
    const ImageShape colour{.channels = 3, .height = 24, .width = 16};
    Picture picture = plain_picture(colour, 0);
    for (std::size_t i = 0; i < picture.pixels.size(); ++i)
      picture.pixels[i] = static_cast<std::uint8_t>(50 + i / 6);
    const Picture back = decoded(jpeg(picture, 95, is_progressive));
    EXPECT_EQ(back.shape, colour);
    EXPECT_LE(largest_difference(back.pixels, picture.pixels), 12);
  }
}

TEST(Jpeg, InGreyHasOneChannel) {
  const Picture picture = gradient({.channels = 1, .height = 9, .width = 13});
  const Picture back = decoded(jpeg(picture, 98));
  EXPECT_EQ(back.shape, picture.shape);
  EXPECT_LE(largest_difference(back.pixels, picture.pixels), 8);
}

TEST(Jpeg, IsRefusedWhenCutOffAnywhere) {
  for (const std::int64_t channels : {1, 3}) {
    const std::string whole =
        jpeg(gradient({.channels = channels, .height = 20, .width = 30}), 90, channels == 3);
    for (std::size_t length = 0; length < whole.size(); ++length)
      EXPECT_TRUE(says(picture_refusal(whole.substr(0, length)), {"test.bin"})) << length;
  }
}

TEST(Jpeg, WithAChangedByteIsRefusedOrAPicture) {
  const Picture picture = gradient({.channels = 3, .height = 16, .width = 16});
  const std::string whole = jpeg(picture);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int value : {0x00, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(value);
      try {
        const Picture back = decode(in_memory(damaged), {.max_bytes = 1 << 24});
        EXPECT_EQ(static_cast<std::int64_t>(back.pixels.size()), back.shape.pixels());
      } catch (const DataError& error) {
        EXPECT_TRUE(says(error.what(), {"test.bin"}));
      }
    }
  }
}

TEST(Jpeg, WhoseHeaderClaimsMoreThanItsFileCanHoldIsRefused) {
  std::string file = jpeg(gradient({.channels = 1, .height = 16, .width = 16}));
  const std::size_t frame = file.find("\xff\xc0");
  ASSERT_NE(frame, std::string::npos);
  file.replace(frame + 5, 4, big_endian(0xea60ea60, 4));
  EXPECT_TRUE(says(picture_refusal(file), {"60000x60000", "what its file can hold", "test.bin"}));
}

#endif

TEST(Resize, ToTheSameSizeChangesNothing) {
  const Picture picture = gradient({.channels = 3, .height = 5, .width = 7});
  const Picture same = resize(picture, {.width = 7, .height = 5});
  EXPECT_EQ(same.shape, picture.shape);
  EXPECT_EQ(same.pixels, picture.pixels);
}

TEST(Resize, ByHalfAveragesFourPixels) {
  const Picture picture = grey(2, 4, {0, 4, 100, 200, 8, 12, 100, 0});
  const Picture half = resize(picture, {.width = 2, .height = 1});
  EXPECT_EQ(half.shape, (ImageShape{.channels = 1, .height = 1, .width = 2}));
  EXPECT_EQ(half.pixels, (Values{6, 100}));
}

// The mean of the input over each output cell, with every cell cut into pieces that both grids
// share: slow, but with nothing to get wrong.
std::vector<double> slow_area_mean(const std::vector<double>& line, std::size_t to) {
  const std::size_t from = line.size();
  std::vector<double> out(to, 0.0);
  for (std::size_t piece = 0; piece < from * to; ++piece)
    out[piece / from] += line[piece / to] / static_cast<double>(from);
  return out;
}

TEST(Resize, WeighsPixelsByTheSharedArea) {
  for (const auto& [from, to] : std::vector<std::pair<std::size_t, std::size_t>>{
           {5, 3}, {7, 2}, {218, 32}, {10, 9}, {6, 1}}) {
    Dataset data{.shape = {.channels = 1,
                           .height = static_cast<std::int64_t>(from),
                           .width = static_cast<std::int64_t>(from)},
                 .pixels = {}};
    std::vector<float> pixels;
    for (std::size_t i = 0; i < from * from; ++i)
      pixels.push_back(static_cast<float>(i * 37 % 101) / 101.0F);
    data.pixels = pixels;
    const auto side = static_cast<std::int64_t>(to);
    const Dataset small = resize(data, {.width = side, .height = side});
    ASSERT_EQ(small.shape, (ImageShape{.channels = 1, .height = side, .width = side}));

    std::vector<std::vector<double>> columns(to, std::vector<double>(from));
    for (std::size_t y = 0; y < from; ++y) {
      std::vector<double> row;
      for (std::size_t x = 0; x < from; ++x) row.push_back(pixels[y * from + x]);
      const auto narrow = slow_area_mean(row, to);
      for (std::size_t x = 0; x < to; ++x) columns[x][y] = narrow[x];
    }
    for (std::size_t x = 0; x < to; ++x) {
      const auto expected = slow_area_mean(columns[x], to);
      for (std::size_t y = 0; y < to; ++y)
        EXPECT_NEAR(testing::floats_of(small)[y * to + x], expected[y], 1e-6) << from << "->" << to;
    }
  }
}

TEST(Resize, KeepsConstantPicturesConstant) {
  for (const std::int64_t side : {1, 2, 3, 7, 31, 32, 33, 100}) {
    const Picture picture = plain_picture({.channels = 3, .height = 31, .width = 17}, 201);
    const Picture other = resize(picture, {.width = side, .height = side + 1});
    EXPECT_EQ(other.pixels, plain_picture(other.shape, 201).pixels) << side;
  }
}

TEST(Resize, InterpolatesWhereItGrows) {
  EXPECT_EQ(resize(grey(1, 2, {0, 100}), {.width = 4, .height = 1}).pixels,
            (Values{0, 25, 75, 100}));
  EXPECT_EQ(resize(grey(2, 1, {0, 100}), {.width = 1, .height = 4}).pixels,
            (Values{0, 25, 75, 100}));
  EXPECT_EQ(resize(grey(1, 3, {0, 60, 240}), {.width = 6, .height = 2}).pixels,
            (Values{0, 15, 45, 105, 195, 240, 0, 15, 45, 105, 195, 240}));
}

TEST(Resize, HandlesSingleLinesAndSinglePixels) {
  EXPECT_EQ(resize(grey(1, 1, {9}), {.width = 3, .height = 2}).pixels, Values(6, 9));
  EXPECT_EQ(resize(grey(1, 4, {0, 10, 20, 30}), {.width = 1, .height = 1}).pixels, Values{15});
  EXPECT_EQ(resize(grey(4, 1, {0, 10, 20, 30}), {.width = 2, .height = 2}).pixels,
            (Values{5, 5, 25, 25}));
}

TEST(Resize, TreatsChannelsAndRecordsApart) {
  Dataset data{.shape = {.channels = 3, .height = 1, .width = 2},
               .pixels = Values{0, 2, 10, 12, 20, 22, 100, 102, 110, 112, 120, 122},
               .labels = {1, 0},
               .class_names = {"a", "b"},
               .declared_size = 9};
  const Dataset small = resize(data, {.width = 1, .height = 1});
  EXPECT_EQ(testing::bytes_of(small), (Values{1, 11, 21, 101, 111, 121}));
  EXPECT_EQ(small.labels, data.labels);
  EXPECT_EQ(small.class_names, data.class_names);
  EXPECT_EQ(small.declared_size, 9);
}

TEST(CentreCrop, TakesTheMiddleOfEveryChannel) {
  const Picture wide = grey(1, 5, {1, 2, 3, 4, 5});
  EXPECT_EQ(centre_crop(wide, 1).pixels, Values{3});
  const Picture tall{{.channels = 3, .height = 4, .width = 2}, {}};
  Picture filled = tall;
  for (int i = 0; i < 24; ++i) filled.pixels.push_back(static_cast<std::uint8_t>(i));
  const Picture cropped = centre_crop(filled, 2);
  EXPECT_EQ(cropped.shape, (ImageShape{.channels = 3, .height = 2, .width = 2}));
  EXPECT_EQ(cropped.pixels, (Values{2, 3, 4, 5, 10, 11, 12, 13, 18, 19, 20, 21}));
}

TEST(CentreCrop, IsRefusedUnlessItFits) {
  const Picture picture = grey(3, 2, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(centre_crop(picture, 2).pixels, (Values{1, 2, 3, 4}));
  for (const std::int64_t side : {-1, 0, 3})
    EXPECT_TRUE(says(refusal([&] { (void)centre_crop(picture, side); }),
                     {"crop", "between 1 and 2", std::to_string(side)}));
}

}  // namespace
}  // namespace obol::data
