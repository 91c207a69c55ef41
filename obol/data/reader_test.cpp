#include "obol/data/reader.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/testing.h"
#include "obol/data/writer.h"
#include "obol/recipe/recipe.h"

namespace obol::data {
namespace {

using testing::bytes_of;
using testing::counting_bytes;
using testing::gzip;
using testing::idx;
using testing::npy;
using testing::opened;
using testing::plain_picture;
using testing::put;
using testing::refusal;
using testing::says;
using testing::usage_refusal;

using Values = std::vector<std::uint8_t>;

void expect_agreement(const std::string& path, const std::string& format,
                      const ReadOptions& options = {}) {
  const Description description = describe(path, options);
  const Dataset data = read(path, options);
  EXPECT_EQ(description.format, format);
  EXPECT_EQ(to_string(description.shape), to_string(data.shape)) << format;
  EXPECT_EQ(description.count, data.count()) << format;
  EXPECT_EQ(description.class_names, data.class_names) << format;
  EXPECT_EQ(description.class_counts, class_counts(data)) << format;
  EXPECT_EQ(data.declared_size, data.count()) << format;
}

TEST(Describe, AgreesWithReadingInEveryFormat) {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  for (const std::int64_t channels : {1, 3}) {
    for (const std::int32_t num_classes : {0, 3}) {
      const std::string name = fmt::format("{}-{}", channels, num_classes);
      const Dataset data =
          counting_bytes(5, {.channels = channels, .height = 4, .width = 6}, num_classes);
      write(data, at + "/" + name + ".npz", Format::kNpz);
      write(data, at + "/" + name + "-idx", Format::kIdx);
      for (const ReadOptions& options :
           {ReadOptions{}, ReadOptions{.resize = ImageSize{.width = 2, .height = 3}}}) {
        expect_agreement(at + "/" + name + ".npz", "NPZ (|u1)", options);
        expect_agreement(at + "/" + name + "-idx", "IDX", options);
      }
#if OBOL_HAS_PNG
      write(data, at + "/" + name + "-png", Format::kPng);
      expect_agreement(at + "/" + name + "-png", "image folder");
      expect_agreement(at + "/" + name + "-png", "image folder",
                       {.resize = ImageSize{.width = 2, .height = 3}, .crop = 3});
#endif
    }
  }
  const ReadOptions unit{.declared = {.range = ValueRange{}}};
  put(folder.path(), "a.npy", npy(">f4", "(2, 9)", std::string(72, '\0')));
  expect_agreement(at + "/a.npy", "NPY (>f4)", unit);
  put(folder.path(), "a.csv", "label,a,b\n1,2,3\n0,2,3\n1,2,3\n");
  expect_agreement(at + "/a.csv", "CSV", unit);
  put(folder.path(), "b.CSV.gz", gzip("1,2,3\n"));
  expect_agreement(at + "/b.CSV.gz", "CSV", unit);
  put(folder.path(), "digits-idx3-ubyte.gz", gzip(idx({1, 1, 2}, {1, 2})));
  expect_agreement(at + "/digits-idx3-ubyte.gz", "IDX");
}

#if OBOL_HAS_PNG && OBOL_HAS_JPEG
TEST(Describe, AgreesWithReadingOfCelebA) {
  const TemporaryFolder folder;
  for (const char* name : {"1.jpg", "2.jpg"})
    put(folder.path(), std::string("img_align_celeba/") + name,
        testing::jpeg(plain_picture({.channels = 3, .height = 40, .width = 36}, 90)));
  put(folder.path(), "list_eval_partition.txt", "1.jpg 0\n2.jpg 0\n");
  put(folder.path(), "list_attr_celeba.txt", "2\nMale\n1.jpg 1\n2.jpg -1\n");
  expect_agreement(folder.path().string(), "CelebA");
  expect_agreement(folder.path().string(), "CelebA", {.attribute = "Male"});
}
#endif

TEST(Read, ResizesWhatIsNoPictureToo) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "a.npy", npy("|u1", "(1, 4)", "\x0a\x14\x1e\x28"));
  EXPECT_EQ(bytes_of(read(path.string(), {.resize = ImageSize{.width = 1, .height = 1}})),
            Values{25});
  EXPECT_EQ(bytes_of(read(path.string(), {.resize = ImageSize{.width = 2, .height = 2}})),
            (Values{10, 20, 30, 40}));
}

TEST(Read, RefusesWhatItDoesNotKnow) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "a.xlsx", "cells");
  EXPECT_TRUE(says(refusal([&] { (void)read(path.string()); }), {".npz", path.string()}));
  EXPECT_TRUE(says(refusal([&] { (void)read((folder.path() / "none.npz").string()); }),
                   {"a file, a folder or a name", "none.npz"}));
  for (const char* name : {"empty.npz", "empty.npy", "empty.csv", "empty-idx3-ubyte"}) {
    const Path empty = put(folder.path(), name, "");
    EXPECT_TRUE(
        says(refusal([&] { (void)read(empty.string(), {.declared = {.range = ValueRange{}}}); }),
             {name}));
    EXPECT_TRUE(says(refusal([&] { (void)describe(empty.string()); }), {name}));
  }
}

TEST(Open, KeepsTheTrainingDataPrivateAndTheTestDataNot) {
  const TemporaryFolder folder;
  put(folder.path(), "train-images-idx3-ubyte", idx({2, 1, 1}, {1, 2}));
  put(folder.path(), "t10k-images-idx3-ubyte", idx({1, 1, 1}, {9}));
  EXPECT_TRUE(says(usage_refusal([&] { (void)open(folder.path().string()); }),
                   {"data.classes must be declared"}));
  const Splits splits = open(folder.path().string(), {.declared = {.classes = 0}});
  static_assert(std::is_same_v<decltype(splits.train), Private<Dataset>>);
  EXPECT_EQ(splits.train.facts().declared_size, 2);
  EXPECT_EQ(bytes_of(opened(splits.train)), (Values{1, 2}));
  EXPECT_EQ(bytes_of(splits.test), Values{9});
}

TEST(Open, RefusesDataWithoutATestSplit) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "a.csv", "1,2\n");
  EXPECT_TRUE(says(refusal([&] { (void)open(path.string()); }), {"test split", path.string()}));
}

const ReadOptions kBytes{.declared = {.range = ValueRange{.low = 0, .high = 255}}};

TEST(ReadUsers, HasOneUserPerFileOrFolderInTheOrderOfNames) {
  const TemporaryFolder folder;
  put(folder.path(), "bob.csv", "1,2\n3,4\n");
  put(folder.path(), "alice/images-idx3-ubyte", idx({1, 1, 2}, {5, 6}));
  put(folder.path(), "carol.v2/images-idx3-ubyte", idx({1, 1, 2}, {7, 8}));
  put(folder.path(), "carol.v1/images-idx3-ubyte", idx({1, 1, 2}, {9, 9}));
  put(folder.path(), ".hidden.csv", "not numbers");
  const std::vector<UserData> users = read_users(folder.path(), kBytes);
  std::vector<std::string> names;
  for (const UserData& user : users) names.push_back(user.user);
  EXPECT_EQ(names, (std::vector<std::string>{"alice", "bob", "carol.v1", "carol.v2"}));
  EXPECT_EQ(bytes_of(users.at(0).data), (Values{5, 6}));
  EXPECT_EQ(users.at(1).data.count(), 2);
}

TEST(ReadUsers, GivesAllUsersTheSameClasses) {
  const TemporaryFolder folder;
  put(folder.path(), "a.csv", "label,x,y\n2,1,9\n");
  put(folder.path(), "b.csv", "label,x,y\n10,2,9\n0,3,9\n");
  const std::vector<UserData> users = read_users(folder.path(), kBytes);
  EXPECT_EQ(users.at(0).data.num_classes(), 11);
  EXPECT_EQ(users.at(0).data.class_names, users.at(1).data.class_names);
  EXPECT_EQ(users.at(0).data.labels, (std::vector<std::int32_t>{2}));
  EXPECT_EQ(users.at(1).data.labels, (std::vector<std::int32_t>{10, 0}));
}

TEST(ReadUsers, GivesThemTheClassesThatTheFolderDeclares) {
  const TemporaryFolder folder;
  put(folder.path(), "declaration.toml", "classes = 3\nrange = '0,1'\n");
  put(folder.path(), "a.csv", "label,x,y\n2,1,0\n");
  put(folder.path(), "b.csv", "label,x,y\n0,1,0\n");
  const std::vector<UserData> users = read_users(folder.path(), {.reading = Reading::kPrivate});
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users.at(1).data.num_classes(), 3);
  EXPECT_EQ(testing::floats_of(users.at(1).data), (std::vector<float>{1, 0}));
  // Another user, whatever is new about it, changes nothing of these.
  put(folder.path(), "c.csv", "label,x,y\n9,255,nan\n");
  const std::vector<UserData> more =
      read_users(folder.path(), {.outside = Outside::kMap, .reading = Reading::kOpen});
  EXPECT_EQ(more.at(1).data.num_classes(), 3);
  EXPECT_EQ(testing::floats_of(more.at(1).data), testing::floats_of(users.at(1).data));
  EXPECT_EQ(more.at(2).data.labels, std::vector<std::int32_t>{2});
  // One user's file is declared by its folder too.
  EXPECT_EQ(read((folder.path() / "b.csv").string()).num_classes(), 3);
}

TEST(ReadUsers, RefusesTwoUsersOfOneName) {
  const TemporaryFolder folder;
  put(folder.path(), "a.csv", "1,2\n");
  put(folder.path(), "a.CSV", "3,4\n");
  EXPECT_TRUE(
      says(refusal([&] { (void)read_users(folder.path(), kBytes); }), {"used once", "is a"}));
}

TEST(ReadUsers, RefusesUsersWithPicturesOfAnotherShape) {
  const TemporaryFolder folder;
  put(folder.path(), "a.csv", "1,2\n");
  const Path other = put(folder.path(), "b.csv", "1,2,3\n");
  EXPECT_TRUE(says(refusal([&] { (void)read_users(folder.path(), kBytes); }),
                   {"every user's", "1x2", "1x3", other.string()}));
  ReadOptions resized = kBytes;
  resized.resize = ImageSize{.width = 2, .height = 1};
  EXPECT_EQ(read_users(folder.path(), resized).size(), 2U);
}

TEST(ReadUsers, RefusesAFolderWithoutUsers) {
  const TemporaryFolder folder;
  EXPECT_TRUE(says(refusal([&] { (void)read_users(folder.path()); }), {"empty"}));
  const Path file = put(folder.path(), "a.csv", "1,2\n");
  EXPECT_TRUE(says(refusal([&] { (void)read_users(file); }), {"per user", file.string()}));
  put(folder.path(), "b.csv", "x,2\n");
  EXPECT_TRUE(says(refusal([&] { (void)read_users(folder.path(), kBytes); }), {"b.csv:1"}));
}

TEST(ParseImageSize, TakesWidthTimesHeight) {
  const ImageSize size = parse_image_size("32x16");
  EXPECT_EQ(size.width, 32);
  EXPECT_EQ(size.height, 16);
  for (const char* text : {"", "32", "32x", "x32", "32x16x3", "0x5", "5x0", "-1x5", "1.5x2",
                           "16385x1", "1x16385", "32 x16", "99999999999999999999x1"})
    EXPECT_TRUE(says(usage_refusal([&] { (void)parse_image_size(text); }), {"WxH", text}));
}

TEST(ParseValueRange, TakesTwoAscendingNumbers) {
  const ValueRange range = parse_value_range("-1,2.5");
  EXPECT_EQ(range.low, -1);
  EXPECT_EQ(range.high, 2.5);
  for (const char* text : {"", "1", "1,1", "2,1", "0,1,2", "a,b", "0,", ",1", "nan,1", "0,inf"})
    EXPECT_TRUE(says(usage_refusal([&] { (void)parse_value_range(text); }), {"LOW,HIGH", text}));
}

TEST(Split, HasTheNamesOfTheFolders) {
  EXPECT_EQ(to_string(Split::kTrain), "train");
  EXPECT_EQ(to_string(Split::kValidation), "validation");
  EXPECT_EQ(to_string(Split::kTest), "test");
}

RecipeData data_section(const std::string& text) {
  return recipe::Recipe::parse("[data]\n" + text, "test.toml").read<RecipeData>("data");
}

TEST(RecipeData, BecomesReadOptions) {
  const RecipeData section = data_section(
      "source = 'celeba'\nsplit = 'validation'\nresize = '8x4'\nrange = '-1,1'\ncrop = 100\n"
      "attribute = 'Male'\nlabel_column = 'digit'\n");
  EXPECT_EQ(section.source, "celeba");
  const ReadOptions options = section.options();
  EXPECT_EQ(options.split, Split::kValidation);
  ASSERT_TRUE(options.resize && options.declared.range);
  EXPECT_EQ(options.resize->width, 8);
  EXPECT_EQ(options.resize->height, 4);
  EXPECT_EQ(options.declared.range->low, -1);
  EXPECT_EQ(options.declared.range->high, 1);
  EXPECT_EQ(options.crop, 100);
  EXPECT_EQ(options.attribute, "Male");
  EXPECT_EQ(options.label_column, "digit");
}

TEST(RecipeData, LeavesOutWhatIsNotGiven) {
  const RecipeData section = data_section("");
  EXPECT_FALSE(section.source);
  const ReadOptions options = section.options();
  EXPECT_EQ(options.split, Split::kTrain);
  EXPECT_FALSE(options.resize || options.declared.range || options.crop || options.attribute ||
               options.label_column);
}

TEST(RecipeData, IsRefusedWithValuesThatCannotBeMeant) {
  EXPECT_TRUE(
      says(usage_refusal([] { (void)data_section("split = 'tset'\n"); }), {"split", "tset"}));
  EXPECT_TRUE(
      says(usage_refusal([] { (void)data_section("crop = 0\n"); }), {"crop", "test.toml:2"}));
  EXPECT_TRUE(
      says(usage_refusal([] { (void)data_section("resize = 'big'\n").options(); }), {"WxH"}));
  EXPECT_TRUE(
      says(usage_refusal([] { (void)data_section("range = '1,0'\n").options(); }), {"LOW,HIGH"}));
}

}  // namespace
}  // namespace obol::data
