#include "obol/data/record_stream.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/testing.h"
#include "obol/data/writer.h"

namespace obol::data {
namespace {

using testing::bytes_of;
using testing::counting_bytes;
using testing::counting_floats;
using testing::floats_of;
using testing::gzip;
using testing::idx;
using testing::npy;
using testing::opened;
using testing::put;
using testing::raw;
using testing::refusal;
using testing::says;
using testing::usage_refusal;

// Everything, three records at a time.
Dataset collected(const std::string& path, const ReadOptions& options = {}) {
  const auto records = stream(path, options);
  Dataset all = opened(records->next(3));
  while (records->left() > 0) {
    const Dataset more = opened(records->next(3));
    all.pixels = std::visit(
        [&](const auto& pixels) -> Pixels {
          using All = std::decay_t<decltype(pixels)>;
          std::vector<typename All::value_type> both(pixels.begin(), pixels.end());
          const auto& next = std::get<All>(more.pixels);
          both.insert(both.end(), next.begin(), next.end());
          return both;
        },
        all.pixels);
  }
  const Labels labels = opened(records->labels());
  all.labels = labels.labels;
  all.class_names = labels.class_names;
  return all;
}

void expect_as_read(const std::string& path, const ReadOptions& options = {}) {
  const Dataset whole = read(path, options);
  const Dataset parts = collected(path, options);
  EXPECT_EQ(parts.shape, whole.shape) << path;
  EXPECT_EQ(parts.pixels, whole.pixels) << path;
  EXPECT_EQ(parts.labels, whole.labels) << path;
  EXPECT_EQ(parts.class_names, whole.class_names) << path;
  EXPECT_EQ(parts.declared_size, whole.declared_size) << path;
}

TEST(RecordStream, GivesWhatReadingGivesInEveryFormat) {
  const TemporaryFolder folder;
  const std::string at = folder.path().string();
  for (const std::int64_t channels : {1, 3}) {
    for (const std::int32_t num_classes : {0, 2}) {
      const ImageShape shape{.channels = channels, .height = 4, .width = 6};
      const std::string name = fmt::format("{}/{}-{}", at, channels, num_classes);
      const Dataset bytes = counting_bytes(8, shape, num_classes);
      write(bytes, name + ".npz", Format::kNpz);
      write(counting_floats(8, shape, num_classes), name + "-real.npz", Format::kNpz);
      write(bytes, name + "-idx", Format::kIdx);
      for (const ReadOptions& options :
           {ReadOptions{}, ReadOptions{.resize = ImageSize{.width = 2, .height = 3}}}) {
        expect_as_read(name + ".npz", options);
        ReadOptions unit = options;
        unit.declared.range = ValueRange{};
        expect_as_read(name + "-real.npz", unit);
        expect_as_read(name + "-idx", options);
      }
#if OBOL_HAS_PNG
      write(bytes, name + "-png", Format::kPng);
      expect_as_read(name + "-png");
      expect_as_read(name + "-png", {.resize = ImageSize{.width = 2, .height = 3}, .crop = 3});
#endif
    }
  }
  expect_as_read(put(folder.path(), "a.csv", "1,2,3,4\n5,6,7,8\n").string(),
                 {.declared = {.range = ValueRange{.low = 0, .high = 10}}});
  expect_as_read(
      put(folder.path(), "a-idx3-ubyte.gz", gzip(idx({2, 1, 2}, {1, 2, 3, 4}))).string());
}

TEST(RecordStream, TakesWhatNumbersMeanFromTheDeclarationAlone) {
  const TemporaryFolder folder;
  const std::string path =
      put(folder.path(), "a.npy", npy("<f4", "(3, 1, 2)", raw<float>({0, 1, 0, 1, 0, 200})))
          .string();
  EXPECT_TRUE(says(usage_refusal([&] { (void)collected(path); }), {"data.range", path}));
  const Dataset scaled =
      collected(path, {.declared = {.range = ValueRange{.low = 0, .high = 200}}});
  EXPECT_EQ(floats_of(scaled), (std::vector<float>{0, 1.0F / 200, 0, 1.0F / 200, 0, 1}));
  const Dataset unit = collected(path, {.declared = {.range = ValueRange{}}});
  EXPECT_EQ(floats_of(unit), (std::vector<float>{0, 1, 0, 1, 0, 1}));
}

TEST(RecordStream, RefusesWhatItCouldNotReadInOrderOrByType) {
  const TemporaryFolder folder;
  const std::string values = raw<float>({0, 0.5, 1, 0.25});
  const std::string fortran =
      put(folder.path(), "f.npy", npy("<f4", "(2, 1, 2)", values, true)).string();
  EXPECT_TRUE(says(refusal([&] { (void)stream(fortran, {.declared = {.range = ValueRange{}}}); }),
                   {"C's order", fortran}));
  const std::string csv = put(folder.path(), "a.csv", "1,2,3,4\n").string();
  EXPECT_TRUE(says(usage_refusal([&] { (void)stream(csv); }), {"data.range", csv}));
}

TEST(RecordStream, HasBlackForTheRecordThatIsNotFinite) {
  const TemporaryFolder folder;
  std::vector<float> values(10, 0.5F);
  values[8] = std::numeric_limits<float>::quiet_NaN();
  const std::string path =
      put(folder.path(), "a.npy", npy("<f4", "(5, 1, 2)", raw(values))).string();
  std::vector<float> expected(10, 0.5F);
  expected[8] = expected[9] = 0;
  EXPECT_EQ(floats_of(collected(path, {.declared = {.range = ValueRange{}}})), expected);
}

TEST(RecordStream, HasTheDeclaredClasses) {
  const TemporaryFolder folder;
  const ReadOptions options{.declared = {.class_names = {}, .outside = Outside::kMap},
                            .reading = Reading::kPrivate};
  const std::string path = (folder.path() / "a.npz").string();
  write(counting_bytes(4, {.channels = 1, .height = 1, .width = 2}, 4), path, Format::kNpz);
  EXPECT_TRUE(says(usage_refusal([&] { (void)stream(path, options); }), {"data.classes"}));
  ReadOptions three = options;
  three.declared.classes = 3;
  const Labels labels = opened(stream(path, three)->labels());
  EXPECT_EQ(labels.labels, (std::vector<std::int32_t>{0, 1, 2, 2}));
  EXPECT_EQ(labels.class_names, (std::vector<std::string>{"0", "1", "2"}));
}

TEST(RecordStream, RefusesFilesThatAreTooShortOrTooLong) {
  const TemporaryFolder folder;
  for (const std::size_t size : {5U, 7U}) {
    const std::string path = put(folder.path(), "a-idx3-ubyte.gz",
                                 gzip(idx({6, 1, 1}, std::vector<std::uint8_t>(size, 1))))
                                 .string();
    EXPECT_TRUE(says(refusal([&] { (void)collected(path); }), {path})) << size;
  }
  const std::string claim =
      put(folder.path(), "b-idx3-ubyte", idx({1U << 31, 1U << 14, 1U << 14}, {1})).string();
  EXPECT_TRUE(says(refusal([&] { (void)stream(claim); }), {"header claims", claim}));
}

TEST(RecordStream, GivesNoMoreThanThereIs) {
  const TemporaryFolder folder;
  const std::string path = put(folder.path(), "a-idx3-ubyte", idx({2, 1, 1}, {7, 9})).string();
  const auto records = stream(path);
  EXPECT_EQ(records->count(), 2);
  EXPECT_EQ(bytes_of(opened(records->next(5))), (std::vector<std::uint8_t>{7, 9}));
  EXPECT_EQ(records->left(), 0);
  EXPECT_TRUE(bytes_of(opened(records->next(5))).empty());
}

}  // namespace
}  // namespace obol::data
