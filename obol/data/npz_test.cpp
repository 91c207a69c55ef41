#include "obol/data/npz.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/record_stream.h"
#include "obol/data/testing.h"

namespace obol::data {
namespace {

using testing::bytes_of;
using testing::counting_bytes;
using testing::counting_floats;
using testing::floats_of;
using testing::in_memory;
using testing::npy;
using testing::put;
using testing::raw;
using testing::refusal;
using testing::says;
using testing::usage_refusal;
using testing::zip;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::string npz(const std::string& images, const std::string& labels = {}) {
  if (labels.empty()) return zip({{.name = "images.npy", .content = images}});
  return zip({{.name = "images.npy", .content = images},
              {.name = "labels.npy", .content = labels, .is_deflated = true}});
}

Dataset read_images(const std::string& images, const ReadOptions& options = {}) {
  const std::string file = npz(images);
  return read_npz(in_memory(file), options);
}

std::string npz_refusal(const std::string& images, const ReadOptions& options = {}) {
  return refusal([&] { (void)read_images(images, options); });
}

std::string label_refusal(const std::string& labels) {
  const std::string file = npz(npy("|u1", "(2, 1, 1)", "ab"), labels);
  return refusal([&] { (void)read_npz(in_memory(file)); });
}

TEST(Npz, ReadsBytesAndLabels) {
  const std::string file = npz(npy("|u1", "(2, 1, 3)", raw<std::uint8_t>({1, 2, 3, 4, 5, 6})),
                               npy("<i8", "(2,)", raw<std::int64_t>({2, 0})));
  const Dataset data = read_npz(in_memory(file));
  EXPECT_EQ(data.shape, (ImageShape{.channels = 1, .height = 1, .width = 3}));
  EXPECT_EQ(bytes_of(data), (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(data.labels, (std::vector<std::int32_t>{2, 0}));
  EXPECT_EQ(data.num_classes(), 3);
  EXPECT_EQ(data.declared_size, 2);
}

TEST(Npz, ReadsEveryElementTypeAsPixels) {
  const ReadOptions options{.declared = {.range = ValueRange{.low = 0, .high = 100}}};
  const auto shown = [&](const std::string& type, const std::string& values) {
    EXPECT_EQ(floats_of(read_images(npy(type, "(1, 1, 3)", values), options)),
              (std::vector<float>{0, 0.02F, 1}))
        << type;
  };
  shown("|u1", raw<std::uint8_t>({0, 2, 100}));
  shown("|i1", raw<std::int8_t>({0, 2, 100}));
  shown("<u2", raw<std::uint16_t>({0, 2, 100}));
  shown(">u2", std::string("\0\0\0\2\0\x64", 6));
  shown("<i4", raw<std::int32_t>({0, 2, 100}));
  shown("<i8", raw<std::int64_t>({0, 2, 100}));
  shown("<f4", raw<float>({0, 2, 100}));
  shown("<f8", raw<double>({0, 2, 100}));
  const ReadOptions unit{.declared = {.range = ValueRange{}}};
  EXPECT_EQ(floats_of(read_images(npy("|b1", "(1, 1, 3)", std::string("\0\1\1", 3)), unit)),
            (std::vector<float>{0, 1, 1}));
}

TEST(Npz, MustSayWhatNumbersMeanThatAreNotBytes) {
  for (const auto& [type, values] : std::vector<std::pair<std::string, std::string>>{
           {"<f4", raw<float>({0, 1})}, {"|b1", std::string("\0\1", 2)}, {"|i1", "ab"}})
    EXPECT_TRUE(says(usage_refusal([&] { (void)read_images(npy(type, "(1, 1, 2)", values)); }),
                     {"data.range must be declared", "test.bin.declaration.toml",
                      "obol data declare test.bin"}));
  EXPECT_EQ(bytes_of(read_images(npy("|u1", "(1, 1, 2)", std::string("\0\1", 2)))),
            (std::vector<std::uint8_t>{0, 1}));
}

TEST(Npz, LetsNoRecordDecideWhatTheOthersMean) {
  const ReadOptions unit{.declared = {.range = ValueRange{}}};
  const auto first_two = [&](const std::vector<float>& third) {
    std::vector<float> values{0, 1, 1, 0};
    values.insert(values.end(), third.begin(), third.end());
    const std::vector<float> pixels =
        floats_of(read_images(npy("<f4", "(3, 1, 2)", raw(values)), unit));
    return std::vector<float>(pixels.begin(), pixels.begin() + 4);
  };
  for (const std::vector<float>& third : std::vector<std::vector<float>>{
           {0, 1}, {2, 0}, {255, 255}, {-1, 0.5}, {kNan, 0}, {kInfinity, -kInfinity}})
    EXPECT_EQ(first_two(third), (std::vector<float>{0, 1, 1, 0}));
}

TEST(Npz, TellsLayoutsApart) {
  const auto shape_of = [](const std::string& shape, std::size_t size) {
    return read_images(npy("|u1", shape, std::string(size, 'x'))).shape;
  };
  EXPECT_EQ(shape_of("(2, 4, 5)", 40), (ImageShape{.channels = 1, .height = 4, .width = 5}));
  EXPECT_EQ(shape_of("(2, 4, 5, 3)", 120), (ImageShape{.channels = 3, .height = 4, .width = 5}));
  EXPECT_EQ(shape_of("(2, 3, 4, 5)", 120), (ImageShape{.channels = 3, .height = 4, .width = 5}));
  EXPECT_EQ(shape_of("(2, 4, 5, 1)", 40), (ImageShape{.channels = 1, .height = 4, .width = 5}));
  EXPECT_EQ(shape_of("(2, 1, 4, 5)", 40), (ImageShape{.channels = 1, .height = 4, .width = 5}));
  EXPECT_EQ(shape_of("(2, 16)", 32), (ImageShape{.channels = 1, .height = 4, .width = 4}));
  EXPECT_EQ(shape_of("(2, 15)", 30), (ImageShape{.channels = 1, .height = 1, .width = 15}));
}

TEST(Npz, MovesChannelsFirst) {
  const std::string values = raw<std::uint8_t>({1, 2, 3, 4, 5, 6});
  const std::vector<std::uint8_t> moved = {1, 4, 2, 5, 3, 6};
  EXPECT_EQ(bytes_of(read_images(npy("|u1", "(1, 1, 2, 3)", values))), moved);
  EXPECT_EQ(bytes_of(read_images(npy("|u1", "(1, 2, 1, 3)", values))), moved);
  const std::vector<std::uint8_t> kept = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(bytes_of(read_images(npy("|u1", "(1, 3, 1, 2)", values))), kept);
}

TEST(Npz, ReadsFortranOrder) {
  EXPECT_EQ(bytes_of(read_images(npy("|u1", "(2, 1, 2)", raw<std::uint8_t>({1, 3, 2, 4}), true))),
            (std::vector<std::uint8_t>{1, 2, 3, 4}));
}

TEST(Npz, RefusesShapesThatAreNoImages) {
  for (const std::string shape : {"()", "(6,)", "(1, 2, 3, 1, 1)", "(1, 2, 3, 2)", "(0, 2, 3)",
                                  "(1, 0, 3)", "(4294967297, 1, 1)"})
    EXPECT_TRUE(says(npz_refusal(npy("|u1", shape, "123456")), {"images", "test.bin:images.npy"}))
        << shape;
}

TEST(Npz, RefusesAClaimThatTheFileCannotHold) {
  EXPECT_TRUE(says(npz_refusal(npy("|u1", "(60000, 28, 28)", "123456")),
                   {"60000 x 28 x 28", "test.bin:images.npy"}));
  EXPECT_TRUE(says(npz_refusal(npy("|u1", "(4294967296, 4294967296, 4294967296)", "123456")),
                   {"test.bin:images.npy"}));
}

TEST(Npz, ScalesFromTheRange) {
  const ReadOptions options{.declared = {.range = ValueRange{.low = -1, .high = 1}}};
  EXPECT_EQ(floats_of(read_images(npy("<f4", "(1, 1, 3)", raw<float>({-1, 0, 1})), options)),
            (std::vector<float>{0, 0.5, 1}));
  EXPECT_EQ(floats_of(read_images(npy("<f4", "(1, 1, 2)", raw<float>({1.5, -9})), options)),
            (std::vector<float>{1, 0}));
  const ReadOptions ten_bits{.declared = {.range = ValueRange{.low = 0, .high = 1023}}};
  EXPECT_EQ(
      floats_of(read_images(npy("<u2", "(1, 1, 2)", raw<std::uint16_t>({0, 1023})), ten_bits)),
      (std::vector<float>{0, 1}));
  const ReadOptions bytes{.declared = {.range = ValueRange{.low = 0, .high = 255}}};
  EXPECT_EQ(floats_of(read_images(npy("|u1", "(1, 1, 2)", raw<std::uint8_t>({0, 255})), bytes)),
            (std::vector<float>{0, 1}));
}

TEST(Npz, RefusesLabelsThatAreNoClasses) {
  EXPECT_TRUE(says(label_refusal(npy("<f4", "(2,)", raw<float>({1, 0.5}))),
                   {"label 1", "whole number", "test.bin"}));
  EXPECT_TRUE(says(label_refusal(npy("<f4", "(2,)", raw<float>({1, kNan}))), {"label 1"}));
  EXPECT_TRUE(says(label_refusal(npy("<i4", "(2,)", raw<std::int32_t>({1, -1}))),
                   {"label 1", "-1", "test.bin"}));
  EXPECT_TRUE(
      says(label_refusal(npy("<i4", "(2,)", raw<std::int32_t>({65536, 0}))), {"label 0", "65535"}));
  EXPECT_TRUE(says(label_refusal(npy("<i8", "(2,)", raw<std::int64_t>({std::int64_t{1} << 32, 0}))),
                   {"label 0"}));
  EXPECT_TRUE(says(label_refusal(npy("|u1", "(2, 2)", "1234")), {"shape of the labels", "[2, 2]"}));
  EXPECT_TRUE(says(label_refusal(npy("|u1", "()", "1")), {"shape of the labels"}));
}

TEST(Npz, TakesLabelsAsAColumnOrAsWholeFloats) {
  const auto labels_of = [](const std::string& labels) {
    const std::string file = npz(npy("|u1", "(2, 1, 1)", "ab"), labels);
    return read_npz(in_memory(file)).labels;
  };
  const std::vector<std::int32_t> expected = {1, 0};
  EXPECT_EQ(labels_of(npy("|u1", "(2, 1)", std::string("\1\0", 2))), expected);
  EXPECT_EQ(labels_of(npy("<f8", "(2,)", raw<double>({1, 0}))), expected);
  EXPECT_EQ(labels_of(npy("|b1", "(2,)", std::string("\1\0", 2))), expected);
}

TEST(Npz, RefusesAnotherNumberOfLabels) {
  const TemporaryFolder folder;
  for (const std::string& labels :
       {npy("|u1", "(0,)", ""), npy("|u1", "(1,)", "\1"), npy("|u1", "(3,)", "\1\1\1")}) {
    EXPECT_TRUE(says(label_refusal(labels), {"number of labels", "2", "test.bin"}));
    const Path path = put(folder.path(), "a.npz", npz(npy("|u1", "(2, 1, 1)", "ab"), labels));
    EXPECT_TRUE(says(refusal([&] { (void)read(path.string()); }), {"number of labels"}));
    EXPECT_TRUE(says(refusal([&] { (void)describe(path.string()); }), {"number of labels"}));
  }
}

TEST(Npz, ReadsTheNamesOfOthers) {
  for (const auto& [images, labels] :
       std::vector<std::pair<std::string, std::string>>{{"images", "labels"},
                                                        {"x", "y"},
                                                        {"data", "y"},
                                                        {"arr_0", "arr_1"},
                                                        {"x_train", "y_train"},
                                                        {"images_train", "labels_train"},
                                                        {"train_images", "train_labels"}}) {
    const std::string file =
        zip({{.name = labels + ".npy", .content = npy("|u1", "(1,)", "\3")},
             {.name = "other.npy", .content = "not even NPY"},
             {.name = images + ".npy", .content = npy("|u1", "(1, 1, 1)", "a")}});
    const Dataset data = read_npz(in_memory(file));
    EXPECT_EQ(bytes_of(data), std::vector<std::uint8_t>{'a'}) << images;
    EXPECT_EQ(data.labels, std::vector<std::int32_t>{3}) << labels;
  }
}

TEST(Npz, ReadsTheSplitsOfKeras) {
  const std::string file = zip({{.name = "x_train.npy", .content = npy("|u1", "(2, 1, 1)", "ab")},
                                {.name = "y_train.npy", .content = npy("|u1", "(2,)", "\1\2")},
                                {.name = "x_test.npy", .content = npy("|u1", "(1, 1, 1)", "c")},
                                {.name = "y_test.npy", .content = npy("|u1", "(1,)", "\3")}});
  EXPECT_EQ(read_npz(in_memory(file)).labels, (std::vector<std::int32_t>{1, 2}));
  const Dataset test = read_npz(in_memory(file), {.split = Split::kTest});
  EXPECT_EQ(bytes_of(test), std::vector<std::uint8_t>{'c'});
  EXPECT_EQ(test.labels, std::vector<std::int32_t>{3});
  EXPECT_TRUE(says(refusal([&] { (void)read_npz(in_memory(file), {.split = Split::kValidation}); }),
                   {"x_validation", "test.bin"}));
}

// Two, one and one record, named as MedMNIST does; `labels` are those of the training images.
std::string medmnist(const std::string& labels) {
  std::vector<testing::ZipPart> parts{
      {.name = "train_images.npy", .content = npy("|u1", "(2, 1, 1)", "ab")},
      {.name = "val_images.npy", .content = npy("|u1", "(1, 1, 1)", "c")},
      {.name = "test_images.npy", .content = npy("|u1", "(1, 1, 1)", "d"), .is_deflated = true},
      {.name = "val_labels.npy", .content = npy("|u1", "(1, 1)", "\3")},
      {.name = "test_labels.npy", .content = npy("|u1", "(1, 1)", "\4")}};
  if (!labels.empty()) parts.push_back({.name = "train_labels.npy", .content = labels});
  return zip(parts);
}

TEST(Npz, ReadsTheSplitsOfMedMnist) {
  const std::string file = medmnist(npy("|u1", "(2, 1)", "\1\2"));
  const auto is_read = [&](Split split, const std::string& pixels,
                           const std::vector<std::int32_t>& labels) {
    const Dataset data = read_npz(in_memory(file), {.split = split});
    EXPECT_EQ(bytes_of(data), std::vector<std::uint8_t>(pixels.begin(), pixels.end()));
    EXPECT_EQ(data.labels, labels);
    EXPECT_EQ(data.declared_size, static_cast<std::int64_t>(pixels.size()));
  };
  is_read(Split::kTrain, "ab", {1, 2});
  is_read(Split::kValidation, "c", {3});
  is_read(Split::kTest, "d", {4});
}

TEST(Npz, ReadsMedMnistInColourRecordByRecordAsAtOnce) {
  const std::string images = npy("|u1", "(2, 1, 2, 3)", "abcdefghijkl");
  const std::string file =
      zip({{.name = "train_images.npy", .content = images, .is_deflated = true},
           {.name = "train_labels.npy", .content = npy("|u1", "(2, 1)", std::string("\1\0", 2))}});
  const TemporaryFolder folder;
  const std::string path = put(folder.path(), "a.npz", file).string();
  const ReadOptions options{.declared = {.classes = 3}};
  const Dataset whole = read(path, options);
  EXPECT_EQ(whole.shape, (ImageShape{.channels = 3, .height = 1, .width = 2}));
  const std::string planes = "adbecfgjhkil";
  EXPECT_EQ(bytes_of(whole), std::vector<std::uint8_t>(planes.begin(), planes.end()));
  const auto records = stream(path, options);
  EXPECT_EQ(testing::opened(records->labels()).labels, whole.labels);
  for (std::ptrdiff_t i = 0; i < 2; ++i)
    EXPECT_EQ(bytes_of(testing::opened(records->next(1))),
              std::vector<std::uint8_t>(planes.begin() + 6 * i, planes.begin() + 6 * (i + 1)));
}

TEST(Npz, RefusesMedMnistWithLabelsThatDoNotFit) {
  const auto refused = [](const std::string& labels) {
    const std::string file = medmnist(labels);
    return refusal([&] { (void)read_npz(in_memory(file), {.declared = {.classes = 5}}); });
  };
  EXPECT_TRUE(says(refused({}), {"with labels, as 5 classes are declared", "test.bin"}));
  EXPECT_TRUE(says(refused(npy("|u1", "(2, 2)", "\1\1\1\1")),
                   {"shape of the labels must be [count] or [count, 1]", "[2, 2]",
                    "test.bin:train_labels.npy"}));
  EXPECT_TRUE(says(refused(npy("|u1", "(1, 2)", "\1\1")), {"[1, 2]"}));
  EXPECT_TRUE(says(refused(npy("|u1", "(2, 1, 1)", "\1\1")), {"[2, 1, 1]"}));
  EXPECT_TRUE(says(refused(npy("|u1", "(3, 1)", "\1\1\1")), {"number of labels must be 2", "3"}));
  EXPECT_TRUE(says(refused(npy("|u1", "(2, 1)", "\1\5")), {"label 1", "from 0 to 4", "5"}));
}

TEST(Npz, RefusesMedMnistOfVolumes) {
  const std::string file = zip(
      {{.name = "train_images.npy", .content = npy("|u1", "(1, 4, 4, 4)", std::string(64, 'a'))}});
  EXPECT_TRUE(says(refusal([&] { (void)read_npz(in_memory(file)); }),
                   {"shape of the images", "[1, 4, 4, 4]", "test.bin:train_images.npy"}));
}

TEST(Npz, TakesNoSplitForAnother) {
  const std::string file =
      zip({{.name = "test_images.npy", .content = npy("|u1", "(1, 1, 1)", "a")}});
  EXPECT_EQ(bytes_of(read_npz(in_memory(file), {.split = Split::kTest})),
            std::vector<std::uint8_t>{'a'});
  EXPECT_TRUE(says(refusal([&] { (void)read_npz(in_memory(file)); }),
                   {"images or x_train or train_images", "[test_images.npy]"}));
  EXPECT_TRUE(says(refusal([&] { (void)read_npz(in_memory(file), {.split = Split::kValidation}); }),
                   {"x_validation or val_images", "[test_images.npy]"}));
}

TEST(Npz, HasNoTestSplitUnlessItSaysSo) {
  const std::string file = npz(npy("|u1", "(1, 1, 1)", "a"));
  EXPECT_TRUE(says(refusal([&] { (void)read_npz(in_memory(file), {.split = Split::kTest}); }),
                   {"x_test", "[images.npy]", "test.bin"}));
  const std::string only_test =
      zip({{.name = "x_test.npy", .content = npy("|u1", "(1, 1, 1)", "a")}});
  EXPECT_TRUE(says(refusal([&] { (void)read_npz(in_memory(only_test)); }), {"x_train"}));
}

TEST(Npy, HasNoTestSplit) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "a.npy", npy("|u1", "(1, 1, 1)", "a"));
  EXPECT_EQ(bytes_of(read(path.string())), std::vector<std::uint8_t>{'a'});
  EXPECT_TRUE(says(refusal([&] { (void)read(path.string(), {.split = Split::kTest}); }),
                   {"test split", path.string()}));
}

TEST(Npz, RefusesAFileCutOffAnywhere) {
  const std::string whole = npz(npy("|u1", "(2, 1, 1)", "ab"), npy("|u1", "(2,)", "\1\2"));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    EXPECT_TRUE(says(refusal([&] { (void)read_npz(in_memory(cut)); }), {"test.bin"})) << length;
  }
}

TEST(Npz, RefusesAnEntryBeyondTheLimit) {
  const std::string file = zip({{.name = "images.npy",
                                 .content = npy("|u1", "(100, 10, 10)", std::string(10000, 'x')),
                                 .is_deflated = true}});
  EXPECT_TRUE(
      says(refusal([&] { (void)read_npz(in_memory(file), {.limits = {.max_bytes = 9999}}); }),
           {"9999 bytes", "images.npy"}));
}

TEST(Npz, DescribesNoClaimThatItsSizeBelies) {
  const TemporaryFolder folder;
  const std::string images = npy("|u1", "(60000, 28, 28)", "123456");
  for (const Path& path :
       {put(folder.path(), "a.npz", npz(images)), put(folder.path(), "a.npy", images)})
    EXPECT_TRUE(says(refusal([&] { (void)describe(path.string()); }), {"60000 x 28 x 28"}));
}

TEST(WriteNpz, IsReadBackTheSame) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "a.npz").string();
  for (const std::int64_t channels : {1, 3}) {
    for (const std::int64_t height : {1, 3, 4}) {
      for (const std::int32_t num_classes : {0, 3}) {
        for (const bool is_real : {false, true}) {
          const ImageShape shape{.channels = channels, .height = height, .width = 5};
          const Dataset data = is_real ? counting_floats(4, shape, num_classes)
                                       : counting_bytes(4, shape, num_classes);
          write_npz(data, path);
          const Dataset back =
              is_real ? read(path, {.declared = {.range = ValueRange{}}}) : read(path);
          EXPECT_EQ(back.shape, data.shape);
          EXPECT_EQ(back.pixels, data.pixels);
          EXPECT_EQ(back.labels, data.labels);
          EXPECT_EQ(back.class_names, data.class_names);
          EXPECT_EQ(back.declared_size, 4);
        }
      }
    }
  }
}

}  // namespace
}  // namespace obol::data
