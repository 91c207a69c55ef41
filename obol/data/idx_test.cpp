#include "obol/data/idx.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/reader.h"
#include "obol/data/testing.h"

namespace obol::data {
namespace {

using testing::bytes_of;
using testing::gzip;
using testing::idx;
using testing::in_memory;
using testing::put;
using testing::refusal;
using testing::says;

const std::vector<std::uint8_t> kTwelve = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

std::string image_refusal(const std::string& content, const ReadLimits& limits = {}) {
  return refusal([&] { (void)read_idx_images(in_memory(content), limits); });
}

TEST(IdxImages, AreReadPlainAndPacked) {
  const std::string plain = idx({2, 2, 3}, kTwelve);
  const std::string packed = gzip(plain);
  const std::string in_members = gzip(plain.substr(0, 9)) + gzip(plain.substr(9));
  for (const std::string& content : {plain, packed, in_members}) {
    const Dataset data = read_idx_images(in_memory(content));
    EXPECT_EQ(data.shape, (ImageShape{.channels = 1, .height = 2, .width = 3}));
    EXPECT_EQ(data.count(), 2);
    EXPECT_EQ(data.declared_size, 2);
    EXPECT_EQ(bytes_of(data), kTwelve);
    EXPECT_FALSE(data.is_labelled());
  }
}

TEST(IdxImages, OfRankFourAreColoursAndComeChannelsFirst) {
  const std::string content = idx({1, 2, 2, 3}, kTwelve);
  const Dataset data = read_idx_images(in_memory(content));
  EXPECT_EQ(data.shape, (ImageShape{.channels = 3, .height = 2, .width = 2}));
  EXPECT_EQ(bytes_of(data), (std::vector<std::uint8_t>{1, 4, 7, 10, 2, 5, 8, 11, 3, 6, 9, 12}));
}

TEST(IdxLabels, AreReadAsUnsigned) {
  const std::string content = idx({3}, {0, 255, 7});
  EXPECT_EQ(read_idx_labels(in_memory(content)), (std::vector<std::int32_t>{0, 255, 7}));
}

TEST(IdxImages, AreRefusedInAnEmptyFile) {
  EXPECT_TRUE(says(image_refusal(""), {"test.bin", "magic", "offset 0"}));
}

TEST(IdxImages, AreRefusedWithAWrongMagicNumber) {
  std::string content = idx({2, 2, 3}, kTwelve);
  content[1] = 1;
  EXPECT_TRUE(says(image_refusal(content), {"test.bin", "two zero bytes"}));
  EXPECT_TRUE(says(image_refusal("PK\x03\x04 and so on"), {"test.bin", "two zero bytes"}));
}

TEST(IdxImages, AreRefusedWithAnotherElementType) {
  for (const char type : {'\x00', '\x09', '\x0b', '\x0c', '\x0d', '\x0e'}) {
    std::string content = idx({2, 2, 3}, kTwelve);
    content[2] = type;
    EXPECT_TRUE(says(image_refusal(content), {"test.bin, offset 2", "0x08", "element type"}));
  }
}

TEST(IdxImages, AreRefusedUnlessOfRankThreeOrFour) {
  for (const std::vector<std::uint32_t>& dimensions :
       std::vector<std::vector<std::uint32_t>>{{}, {12}, {3, 4}, {1, 1, 1, 1, 12}})
    EXPECT_TRUE(says(image_refusal(idx(dimensions, kTwelve)), {"test.bin", "rank", "3 or 4"}));
}

TEST(IdxLabels, AreRefusedUnlessOfRankOne) {
  const std::string content = idx({2, 2, 3}, kTwelve);
  EXPECT_TRUE(
      says(refusal([&] { (void)read_idx_labels(in_memory(content)); }), {"test.bin", "rank", "3"}));
}

TEST(IdxImages, AreRefusedWithADimensionOfZero) {
  EXPECT_TRUE(says(image_refusal(idx({0, 2, 3}, {})), {"test.bin, offset 8", "at least 1"}));
  EXPECT_TRUE(says(image_refusal(idx({2, 2, 0}, {})), {"test.bin, offset 16", "at least 1"}));
}

TEST(IdxImages, AreRefusedWhenTheirSizeOverflows) {
  // 2^31 * 2^31 * 2 = 2^63, times 2 = 0 in 64 bits.
  EXPECT_TRUE(says(image_refusal(idx({0x80000000, 0x80000000, 2, 2}, kTwelve)),
                   {"test.bin", "2147483648 x 2147483648 x 2 x 2", "offset 20"}));
  EXPECT_TRUE(says(image_refusal(idx({0xffffffff, 0xffffffff, 0xffffffff}, kTwelve)),
                   {"test.bin", "offset 16"}));
}

TEST(IdxImages, AreRefusedWhenTheyClaimMoreThanTheFileHolds) {
  EXPECT_TRUE(says(image_refusal(idx({2, 2, 4}, kTwelve)), {"test.bin", "2 x 2 x 4", "12 bytes"}));
  // Beyond what deflate can pack, known before anything is allocated.
  EXPECT_TRUE(says(image_refusal(gzip(idx({60000, 1000, 1000}, kTwelve))),
                   {"test.bin", "60000 x 1000 x 1000", "claims"}));
}

TEST(IdxImages, AreRefusedWhenCutOffAnywhere) {
  const std::string whole = idx({2, 2, 3}, kTwelve);
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_TRUE(says(image_refusal(whole.substr(0, length)), {"test.bin", "offset"})) << length;
}

TEST(IdxImages, AreRefusedWhenCutOffAnywhereInGzip) {
  const std::string whole = gzip(idx({2, 2, 3}, kTwelve));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    const std::string message = image_refusal(whole.substr(0, length));
    EXPECT_TRUE(says(message, {"test.bin"})) << length;
    if (length < 2) continue;  // not yet known to be gzip
    EXPECT_TRUE(says(message, {"cut off", "offset"})) << length;
  }
}

TEST(IdxLabels, AreRefusedWhenCutOffAnywhere) {
  const std::string plain = idx({5}, {0, 1, 2, 3, 4});
  for (const std::string& whole : {plain, gzip(plain)})
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const std::string cut = whole.substr(0, length);
      EXPECT_TRUE(says(refusal([&] { (void)read_idx_labels(in_memory(cut)); }), {"test.bin"}))
          << length;
    }
}

TEST(IdxImages, AreRefusedWithBytesAfterThem) {
  EXPECT_TRUE(says(image_refusal(idx({2, 2, 3}, kTwelve) + "x"), {"test.bin", "28 bytes long"}));
  EXPECT_TRUE(
      says(image_refusal(gzip(idx({2, 2, 3}, kTwelve) + "x")), {"test.bin", "28 bytes long"}));
  EXPECT_TRUE(says(image_refusal(gzip(idx({2, 2, 3}, kTwelve)) + "x"), {"test.bin", "cut off"}));
}

TEST(IdxImages, AreRefusedBeyondTheLimit) {
  const std::vector<std::uint8_t> many(10000, 7);
  const std::string honest = gzip(idx({100, 10, 10}, many));
  ASSERT_LT(honest.size(), 200U);
  EXPECT_TRUE(says(image_refusal(honest, {.max_bytes = 9999}), {"test.bin", "9999 bytes"}));
  // A header that keeps its claim small does not help the bomb behind it.
  const std::string lying = gzip(idx({1, 10, 10}, many));
  EXPECT_TRUE(says(image_refusal(lying, {.max_bytes = 9999}), {"test.bin", "longer"}));
  EXPECT_TRUE(says(image_refusal(idx({100, 10, 10}, many), {.max_bytes = 9999}), {"9999 bytes"}));
}

TEST(IdxImages, AreRefusedWithAFlippedByteInGzip) {
  const std::string whole = gzip(idx({2, 2, 3}, kTwelve));
  constexpr std::size_t kGzipHeader = 10;
  for (std::size_t at = kGzipHeader; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    EXPECT_TRUE(says(image_refusal(damaged), {"test.bin"})) << at;
  }
}

TEST(IdxFile, TakesItsLabelsFromTheFileBeside) {
  for (const char* images : {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"}) {
    for (const char* labels : {"train-labels-idx1-ubyte", "train-labels-idx1-ubyte.gz"}) {
      const TemporaryFolder folder;
      const std::string image_bytes = idx({2, 2, 3}, kTwelve);
      const std::string label_bytes = idx({2}, {3, 1});
      const Path path = put(folder.path(), images,
                            Path(images).extension() == ".gz" ? gzip(image_bytes) : image_bytes);
      put(folder.path(), labels,
          Path(labels).extension() == ".gz" ? gzip(label_bytes) : label_bytes);
      const Dataset data = read(path.string());
      EXPECT_EQ(data.labels, (std::vector<std::int32_t>{3, 1})) << images << " " << labels;
      EXPECT_EQ(data.num_classes(), 4);
    }
  }
}

TEST(IdxFile, InColourFindsItsLabelsToo) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "images-idx4-ubyte", idx({1, 2, 2, 3}, kTwelve));
  put(folder.path(), "labels-idx1-ubyte", idx({1}, {2}));
  EXPECT_EQ(read(path.string()).labels, std::vector<std::int32_t>{2});
}

TEST(IdxFile, WithoutLabelsBesideIsUnlabelled) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "digits-idx3-ubyte", idx({2, 2, 3}, kTwelve));
  put(folder.path(), "labels-idx1-ubyte", idx({1}, {2}));
  EXPECT_FALSE(read(path.string()).is_labelled());
}

TEST(IdxFile, IsRefusedWithAnotherNumberOfLabels) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "images-idx3-ubyte", idx({2, 2, 3}, kTwelve));
  for (const std::vector<std::uint8_t>& labels :
       std::vector<std::vector<std::uint8_t>>{{1}, {1, 2, 3}}) {
    put(folder.path(), "labels-idx1-ubyte",
        idx({static_cast<std::uint32_t>(labels.size())}, labels));
    EXPECT_TRUE(says(refusal([&] { (void)read(path.string()); }), {"number of labels", "idx"}));
    EXPECT_TRUE(says(refusal([&] { (void)describe(path.string()); }), {"number of labels", "idx"}));
  }
}

TEST(IdxFile, DescribesNoClaimThatItsSizeBelies) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "images-idx3-ubyte", idx({60000, 28, 28}, kTwelve));
  EXPECT_TRUE(says(refusal([&] { (void)describe(path.string()); }), {"60000 x 28 x 28"}));
}

TEST(IdxFolder, ChoosesTheFilesOfTheSplit) {
  const TemporaryFolder folder;
  put(folder.path(), "train-images-idx3-ubyte", idx({2, 2, 3}, kTwelve));
  put(folder.path(), "t10k-images-idx3-ubyte.gz", gzip(idx({1, 3, 4}, kTwelve)));
  const std::string path = folder.path().string();
  EXPECT_EQ(read(path).count(), 2);
  EXPECT_EQ(read(path, {.split = Split::kTest}).count(), 1);
  EXPECT_TRUE(says(refusal([&] { (void)read(path, {.split = Split::kValidation}); }),
                   {"validation-images", path}));
}

TEST(IdxFolder, WithoutSplitsIsTrainingDataOnly) {
  const TemporaryFolder folder;
  put(folder.path(), "images-idx3-ubyte", idx({2, 2, 3}, kTwelve));
  const std::string path = folder.path().string();
  EXPECT_EQ(read(path).count(), 2);
  EXPECT_TRUE(says(refusal([&] { (void)read(path, {.split = Split::kTest}); }), {"t10k-images"}));
}

TEST(IdxFile, HasNoTestSplit) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "t10k-images-idx3-ubyte", idx({2, 2, 3}, kTwelve));
  EXPECT_TRUE(says(refusal([&] { (void)read(path.string(), {.split = Split::kTest}); }),
                   {"test split", path.string()}));
}

TEST(WriteIdx, RefusesMoreClassesThanAByteCanName) {
  const TemporaryFolder folder;
  Dataset data = testing::counting_bytes(1, {.channels = 1, .height = 1, .width = 1}, 257);
  EXPECT_TRUE(says(refusal([&] { write_idx(data, folder.path() / "out"); }), {"256", "257"}));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "out"));
  data.class_names.pop_back();
  data.labels = {255};
  write_idx(data, folder.path() / "out");
  EXPECT_EQ(read((folder.path() / "out").string()).labels, std::vector<std::int32_t>{255});
}

TEST(WriteIdx, WritesTheHeaderThatOthersExpect) {
  const TemporaryFolder folder;
  write_idx(testing::counting_bytes(2, {.channels = 1, .height = 2, .width = 3}, 2),
            folder.path() / "out");
  EXPECT_EQ(read_text(folder.path() / "out/images-idx3-ubyte", 1000),
            idx({2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(read_text(folder.path() / "out/labels-idx1-ubyte", 1000), idx({2}, {0, 1}));
}

}  // namespace
}  // namespace obol::data
