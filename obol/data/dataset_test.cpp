#include "obol/data/dataset.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/data/layout.h"
#include "obol/data/pixels.h"
#include "obol/data/testing.h"

namespace obol::data {
namespace {

using testing::bytes_of;
using testing::counting_bytes;
using testing::counting_floats;
using testing::floats_of;
using testing::refusal;
using testing::says;

constexpr ImageShape kPair{.channels = 1, .height = 1, .width = 2};

TEST(ImageShape, IsWrittenHeightFirstWithChannelsOnlyInColour) {
  EXPECT_EQ(to_string(ImageShape{.channels = 1, .height = 28, .width = 20}), "28x20");
  EXPECT_EQ(to_string(ImageShape{.channels = 3, .height = 32, .width = 16}), "32x16x3");
}

TEST(Dataset, CountsItsRecords) {
  EXPECT_EQ(counting_bytes(5, {.channels = 3, .height = 2, .width = 2}).count(), 5);
  EXPECT_EQ(counting_floats(4, kPair).count(), 4);
  EXPECT_EQ(Dataset{}.count(), 0);
}

TEST(Dataset, StaysLabelledWhenABatchOfItIsEmpty) {
  Dataset data = counting_bytes(2, kPair);
  data.labels = {0, 1};
  data.class_names = {"a", "b"};
  EXPECT_TRUE(select(data, {}).is_labelled());
  EXPECT_EQ(select(data, {}).count(), 0);
  data.class_names.clear();
  EXPECT_TRUE(says(refusal([&] { check_consistent(data, "here"); }), {"label 0", "here"}));
}

TEST(Dataset, SortsClassesByNumberWhereAllAreNumbers) {
  std::vector<std::string> numbers = {"10", "9", "2"};
  sort_class_names(numbers);
  EXPECT_EQ(numbers, (std::vector<std::string>{"2", "9", "10"}));
  std::vector<std::string> words = {"b", "10", "a", "9"};
  sort_class_names(words);
  EXPECT_EQ(words, (std::vector<std::string>{"10", "9", "a", "b"}));
}

TEST(Dataset, NumbersClassesUpToTheLargestLabel) {
  EXPECT_EQ(numbered_classes({2, 0, 2}), (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_TRUE(numbered_classes({}).empty());
}

TEST(Dataset, CountsTheRecordsOfEachClass) {
  Dataset data = counting_bytes(5, kPair, 4);
  data.labels = {3, 0, 3, 3, 1};
  EXPECT_EQ(class_counts(data), (std::vector<std::int64_t>{1, 1, 0, 3}));
}

TEST(Select, TakesRecordsInTheGivenOrderWithRepeats) {
  const Dataset data = counting_bytes(4, kPair, 4);
  const Dataset chosen = select(data, {3, 0, 3});
  EXPECT_EQ(bytes_of(chosen), (std::vector<std::uint8_t>{6, 7, 0, 1, 6, 7}));
  EXPECT_EQ(chosen.labels, (std::vector<std::int32_t>{3, 0, 3}));
  EXPECT_EQ(chosen.class_names, data.class_names);
  EXPECT_EQ(chosen.shape, data.shape);
}

TEST(Select, KeepsTheDeclaredSize) {
  EXPECT_EQ(select(counting_bytes(4, kPair), {1}).declared_size, 4);
  EXPECT_EQ(select(counting_bytes(4, kPair), {}).declared_size, 4);
}

TEST(Select, KeepsFloatsAsFloats) {
  const Dataset data = counting_floats(3, kPair);
  EXPECT_EQ(floats_of(select(data, {2})),
            (std::vector<float>{floats_of(data)[4], floats_of(data)[5]}));
}

TEST(RecordBytes, CopiesBytes) {
  EXPECT_EQ(record_bytes(counting_bytes(3, kPair), 1), (std::vector<std::uint8_t>{2, 3}));
}

TEST(RecordBytes, RoundsFloatsToTheNearestByteAndClampsThem) {
  Dataset data{.shape = {.channels = 1, .height = 1, .width = 5}, .pixels = {}};
  data.pixels = std::vector<float>{0.0F, 1.0F, 0.5F, -0.2F, 1.7F};
  EXPECT_EQ(record_bytes(data, 0), (std::vector<std::uint8_t>{0, 255, 128, 0, 255}));
}

TEST(CheckConsistent, AcceptsWhatFits) {
  EXPECT_NO_THROW(check_consistent(counting_bytes(3, kPair, 2), "here"));
  EXPECT_NO_THROW(check_consistent(counting_bytes(3, kPair), "here"));
}

TEST(CheckConsistent, RefusesNoRecordsAndWrongLabels) {
  EXPECT_TRUE(says(refusal([] { check_consistent(Dataset{}, "here"); }), {"records", "here"}));
  Dataset data = counting_bytes(3, kPair, 2);
  data.labels.pop_back();
  EXPECT_TRUE(says(refusal([&] { check_consistent(data, "here"); }), {"labels", "3", "2", "here"}));
  data.labels.push_back(2);
  EXPECT_TRUE(says(refusal([&] { check_consistent(data, "here"); }), {"label 2", "here"}));
  data.labels.back() = -1;
  EXPECT_TRUE(says(refusal([&] { check_consistent(data, "here"); }), {"label 2", "-1"}));
}

TEST(Layout, MovesChannelsFirstRecordByRecord) {
  const ImageShape shape{.channels = 3, .height = 1, .width = 2};
  std::vector<int> pixels = {1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60};
  channels_first(pixels, shape);
  EXPECT_EQ(pixels, (std::vector<int>{1, 4, 2, 5, 3, 6, 10, 40, 20, 50, 30, 60}));
}

TEST(Layout, InterleavesBack) {
  const ImageShape shape{.channels = 3, .height = 2, .width = 2};
  std::vector<int> record = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  std::vector<int> there = interleaved(record, shape);
  EXPECT_EQ(there, (std::vector<int>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
  channels_first(there, shape);
  EXPECT_EQ(there, record);
}

TEST(UnitPixels, AreScaledFromTheRangeAndClampedToIt) {
  EXPECT_EQ(unit_pixels({-1, 0, 1, -7, 9, 0.5F}, {.low = -1, .high = 1}, 3),
            (std::vector<float>{0, 0.5F, 1, 0, 1, 0.75F}));
}

TEST(UnitPixels, AreFiniteInARangeThatOnlyDoublesCanTellApart) {
  EXPECT_EQ(unit_pixels({1}, {.low = 1.0, .high = 1.0 + 1e-12}, 1), std::vector<float>{0});
}

TEST(UnitPixels, OfARecordThatIsNotFiniteAreBlackAndNoOthers) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(unit_pixels({1, 1, 1, kNan, 1, 0.5F, -kInfinity, 1}, {.low = -1, .high = 1}, 2),
            (std::vector<float>{1, 1, 0, 0, 1, 0.75F, 0, 0}));
}

TEST(MakeSound, LooksAtEveryRecordAlone) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  Dataset data{.shape = {.channels = 1, .height = 1, .width = 2},
               .pixels = std::vector<float>{0.5F, 1, kNan, 1, 7, -1},
               .labels = {1, -3, 9},
               .class_names = {"a", "b"},
               .declared_size = 3};
  data.make_sound();
  EXPECT_EQ(std::get<std::vector<float>>(data.pixels), (std::vector<float>{0.5F, 1, 0, 0, 1, 0}));
  EXPECT_EQ(data.labels, (std::vector<std::int32_t>{1, 0, 1}));
}

TEST(ShapeOfFlat, MakesSquaresAndElseOneLine) {
  EXPECT_EQ(shape_of_flat(784), (ImageShape{.channels = 1, .height = 28, .width = 28}));
  EXPECT_EQ(shape_of_flat(785), (ImageShape{.channels = 1, .height = 1, .width = 785}));
  EXPECT_EQ(shape_of_flat(6, {.size = ImageSize{.width = 3, .height = 2}}),
            (ImageShape{.channels = 1, .height = 2, .width = 3}));
  EXPECT_EQ(shape_of_flat(1), (ImageShape{.channels = 1, .height = 1, .width = 1}));
}

}  // namespace
}  // namespace obol::data
