#include "obol/data/writer.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/reader.h"
#include "obol/data/testing.h"

namespace obol::data {
namespace {

namespace fs = std::filesystem;

using testing::bytes_of;
using testing::counting_bytes;
using testing::counting_floats;
using testing::floats_of;
using testing::put;
using testing::refusal;
using testing::says;

constexpr ImageShape kDot{.channels = 1, .height = 1, .width = 1};

std::vector<Format> folder_formats() {
  std::vector<Format> formats = {Format::kIdx};
  if (OBOL_HAS_PNG) formats.push_back(Format::kPng);
  return formats;
}

// Every file and folder below, by its name from there.
std::set<std::string> everything_in(const Path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    names.insert(entry.path().lexically_relative(folder).string());
  return names;
}

TEST(FormatOfPath, IsToldByTheForm) {
  EXPECT_EQ(format_of_path("a/x.npz"), Format::kNpz);
  EXPECT_EQ(format_of_path("a/*.png"), Format::kPng);
  EXPECT_EQ(format_of_path("a/*-ubyte"), Format::kIdx);
  for (const char* path : {"a", "a/", "a.png", "a.csv", "", "npz"})
    EXPECT_EQ(format_of_path(path), std::nullopt) << path;
}

TEST(Write, IsReadBackTheSameFromEveryFormat) {
  for (const Format format : {Format::kNpz, Format::kIdx, Format::kPng}) {
    for (const std::int64_t channels : {1, 3}) {
      for (const std::int32_t num_classes : {0, 3}) {
        if (format == Format::kPng && !OBOL_HAS_PNG) continue;
        const TemporaryFolder folder;
        // In an order that a folder per class keeps.
        Dataset data =
            counting_bytes(6, {.channels = channels, .height = 4, .width = 5}, num_classes);
        std::sort(data.labels.begin(), data.labels.end());
        const std::string path =
            (folder.path() / (format == Format::kNpz ? "a.npz" : "deep/down")).string();
        write(data, path, format);
        const Dataset back = read(path);
        EXPECT_EQ(to_string(back.shape), to_string(data.shape));
        EXPECT_EQ(back.pixels, data.pixels);
        EXPECT_EQ(back.labels, data.labels);
        EXPECT_EQ(back.class_names, data.class_names);
      }
    }
  }
}

TEST(Write, RoundsFloatsToBytesWhereTheFormatHasOnlyThose) {
  const Dataset data = counting_floats(3, {.channels = 1, .height = 2, .width = 40});
  const Dataset same = counting_bytes(3, data.shape);
  for (const Format format : folder_formats()) {
    const TemporaryFolder folder;
    write(data, (folder.path() / "out").string(), format);
    EXPECT_EQ(bytes_of(read((folder.path() / "out").string())), bytes_of(same));
  }
  const TemporaryFolder folder;
  write(data, (folder.path() / "a.npz").string(), Format::kNpz);
  EXPECT_EQ(
      floats_of(read((folder.path() / "a.npz").string(), {.declared = {.range = ValueRange{}}})),
      floats_of(data));
}

TEST(Write, TakesThePatternForTheFolder) {
  const TemporaryFolder folder;
  write(counting_bytes(1, kDot), (folder.path() / "a/*-ubyte").string(), Format::kIdx);
  EXPECT_EQ(everything_in(folder.path()), (std::set<std::string>{"a", "a/images-idx3-ubyte"}));
#if OBOL_HAS_PNG
  write(counting_bytes(2, kDot, 2), (folder.path() / "b/*.png").string(), Format::kPng);
  EXPECT_EQ(everything_in(folder.path() / "b"),
            (std::set<std::string>{"0", "0/000000.png", "1", "1/000001.png"}));
#endif
}

TEST(Write, RefusesAFolderWithSomethingInItAndLeavesItAlone) {
  for (const Format format : folder_formats()) {
    const TemporaryFolder folder;
    put(folder.path(), "out/precious.txt", "mine");
    EXPECT_TRUE(says(refusal([&] {
                       write(counting_bytes(2, kDot, 2), (folder.path() / "out").string(), format);
                     }),
                     {"new or empty", (folder.path() / "out").string()}));
    EXPECT_EQ(everything_in(folder.path()), (std::set<std::string>{"out", "out/precious.txt"}));
    EXPECT_EQ(read_text(folder.path() / "out/precious.txt", 100), "mine");
  }
}

TEST(Write, RefusesAFileInTheWayAndLeavesItAlone) {
  for (const Format format : folder_formats()) {
    for (const std::string content : {"mine", ""}) {
      const TemporaryFolder folder;
      const Path file = put(folder.path(), "out", content);
      EXPECT_TRUE(says(refusal([&] { write(counting_bytes(2, kDot), file.string(), format); }),
                       {file.string()}));
      EXPECT_EQ(everything_in(folder.path()), std::set<std::string>{"out"});
      EXPECT_EQ(read_text(file, 100), content);
    }
  }
}

TEST(Write, FillsAnEmptyFolder) {
  for (const Format format : folder_formats()) {
    const TemporaryFolder folder;
    fs::create_directory(folder.path() / "out");
    write(counting_bytes(2, kDot), (folder.path() / "out").string(), format);
    EXPECT_EQ(read((folder.path() / "out").string()).count(), 2);
  }
}

TEST(Write, ReplacesAnNpzFileButNotAFolderOfThatName) {
  const TemporaryFolder folder;
  const Path file = put(folder.path(), "a.npz", "old");
  write(counting_bytes(2, kDot), file.string(), Format::kNpz);
  EXPECT_EQ(read(file.string()).count(), 2);
  put(folder.path(), "b.npz/precious.txt", "mine");
  EXPECT_TRUE(says(refusal([&] {
                     write(counting_bytes(2, kDot), (folder.path() / "b.npz").string(),
                           Format::kNpz);
                   }),
                   {"b.npz"}));
  EXPECT_EQ(everything_in(folder.path()),
            (std::set<std::string>{"a.npz", "b.npz", "b.npz/precious.txt"}));
}

#if OBOL_HAS_PNG

Dataset with_classes(const std::vector<std::string>& names) {
  Dataset data = counting_bytes(static_cast<std::int64_t>(names.size()), kDot,
                                static_cast<std::int32_t>(names.size()));
  data.class_names = names;
  return data;
}

TEST(WritePng, KeepsEveryClassInsideTheFolder) {
  const TemporaryFolder folder;
  write(with_classes({"../escape", "/etc/x", "a\\b", "..", ".", "", ".hidden", "line\nbreak"}),
        (folder.path() / "out").string(), Format::kPng);
  for (const auto& entry : fs::directory_iterator(folder.path()))
    EXPECT_EQ(entry.path().filename(), "out");
  const Dataset back = read((folder.path() / "out").string());
  EXPECT_EQ(back.count(), 8);
  EXPECT_EQ(back.num_classes(), 8);
  EXPECT_EQ(everything_in(folder.path() / "out").size(), 16U) << "one folder, one picture each";
}

TEST(WritePng, KeepsClassesApartWhoseFoldersWouldHaveOneName) {
  const TemporaryFolder folder;
  write(with_classes({"a/b", "a_b", "a\\b", "class_3", "", "class_4", "a_b"}),
        (folder.path() / "out").string(), Format::kPng);
  const Dataset back = read((folder.path() / "out").string());
  EXPECT_EQ(back.num_classes(), 7);
  std::vector<std::int64_t> counts = class_counts(back);
  EXPECT_EQ(counts, std::vector<std::int64_t>(7, 1));
  EXPECT_TRUE(fs::is_directory(folder.path() / "out/a_b"));
}

TEST(WritePng, RefusesWhatPngHasNoColoursFor) {
  const TemporaryFolder folder;
  EXPECT_TRUE(says(refusal([&] {
                     write(counting_bytes(1, {.channels = 2, .height = 1, .width = 1}),
                           (folder.path() / "out").string(), Format::kPng);
                   }),
                   {"channels", "1 or 3", "2"}));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

#endif

// The value at a pixel of one channel of a grid.
int at(const Picture& grid, std::int64_t y, std::int64_t x, std::int64_t channel = 0) {
  return grid
      .pixels[static_cast<std::size_t>((channel * grid.shape.height + y) * grid.shape.width + x)];
}

constexpr int kPaper = 96;
constexpr std::int64_t kGap = 2;

TEST(SampleGrid, HasARowPerClassAndPaperBetween) {
  // Class c has the records 10 c, 10 c + 1, ..., of 2 x 3 pixels of that value.
  const ImageShape shape{.channels = 1, .height = 2, .width = 3};
  Dataset data{.shape = shape, .pixels = {}, .labels = {}, .class_names = {"a", "b", "c"}};
  std::vector<std::uint8_t> pixels;
  for (int i = 0; i < 30; ++i) {
    pixels.insert(pixels.end(), 6, static_cast<std::uint8_t>(i % 3 * 10 + i / 3));
    data.labels.push_back(i % 3);
  }
  data.pixels = pixels;
  SeededBits bits(1);
  const Picture grid = sample_grid(data, {.columns = 4, .rows = 7, .scale = 1}, bits);
  EXPECT_EQ(grid.shape,
            (ImageShape{.channels = 1, .height = 3 * (2 + 2) + 2, .width = 4 * (3 + 2) + 2}));
  for (std::int64_t row = 0; row < 3; ++row) {
    std::set<int> seen;
    for (std::int64_t column = 0; column < 4; ++column) {
      const std::int64_t top = kGap + row * 4;
      const std::int64_t left = kGap + column * 5;
      const int value = at(grid, top, left);
      EXPECT_EQ(value / 10, row) << "a picture of another class";
      EXPECT_TRUE(seen.insert(value).second) << "the same record twice";
      EXPECT_EQ(at(grid, top + 1, left + 2), value);
      EXPECT_EQ(at(grid, top + 1, left + 3), kPaper);
      EXPECT_EQ(at(grid, top + 2, left), kPaper);
    }
  }
  for (std::int64_t x = 0; x < grid.shape.width; ++x) EXPECT_EQ(at(grid, 1, x), kPaper);
}

TEST(SampleGrid, LeavesPaperWhereAClassHasTooFewRecords) {
  Dataset data = counting_bytes(4, kDot, 3);
  data.pixels = std::vector<std::uint8_t>{10, 11, 12, 13};
  data.labels = {0, 0, 0, 2};
  SeededBits bits(2);
  const Picture grid = sample_grid(data, {.columns = 5, .scale = 1}, bits);
  EXPECT_EQ(grid.shape, (ImageShape{.channels = 1, .height = 3 * 3 + 2, .width = 5 * 3 + 2}));
  std::vector<int> shown;
  for (const std::int64_t row : {0, 1, 2})
    for (const std::int64_t column : {0, 1, 2, 3, 4})
      shown.push_back(at(grid, kGap + row * 3, kGap + column * 3));
  std::sort(shown.begin(), shown.begin() + 3);
  EXPECT_EQ(shown, (std::vector<int>{10, 11, 12, kPaper, kPaper,              //
                                     kPaper, kPaper, kPaper, kPaper, kPaper,  //
                                     13, kPaper, kPaper, kPaper, kPaper}));
}

TEST(SampleGrid, OfUnlabelledDataHasAsManyRowsAsAskedOrNeeded) {
  SeededBits bits(3);
  const Dataset many = counting_bytes(50, kDot);
  EXPECT_EQ(sample_grid(many, {.columns = 4, .rows = 3, .scale = 1}, bits).shape,
            (ImageShape{.channels = 1, .height = 11, .width = 14}));
  const Dataset few = counting_bytes(5, kDot);
  const Picture grid = sample_grid(few, {.columns = 4, .rows = 3, .scale = 1}, bits);
  EXPECT_EQ(grid.shape, (ImageShape{.channels = 1, .height = 8, .width = 14}));
  std::set<int> shown;
  for (std::int64_t i = 0; i < 5; ++i)
    shown.insert(at(grid, kGap + (i / 4) * 3, kGap + (i % 4) * 3));
  EXPECT_EQ(shown, (std::set<int>{0, 1, 2, 3, 4}));
}

TEST(SampleGrid, EnlargesByWholeFactors) {
  SeededBits bits(4);
  Dataset data = counting_bytes(1, {.channels = 1, .height = 1, .width = 2});
  data.pixels = std::vector<std::uint8_t>{10, 20};
  const Picture grid = sample_grid(data, {.columns = 1, .scale = 3}, bits);
  EXPECT_EQ(grid.shape, (ImageShape{.channels = 1, .height = 3 + 4, .width = 6 + 4}));
  for (std::int64_t y = 0; y < 3; ++y)
    for (std::int64_t x = 0; x < 6; ++x) EXPECT_EQ(at(grid, kGap + y, kGap + x), x < 3 ? 10 : 20);
  const Dataset digit = counting_bytes(1, {.channels = 1, .height = 28, .width = 28});
  EXPECT_EQ(sample_grid(digit, {.columns = 1}, bits).shape.width, 56 + 4);
  const Dataset large = counting_bytes(1, {.channels = 1, .height = 100, .width = 60});
  EXPECT_EQ(sample_grid(large, {.columns = 1}, bits).shape.height, 100 + 4);
}

TEST(SampleGrid, KeepsColours) {
  SeededBits bits(5);
  Dataset data = counting_bytes(1, {.channels = 3, .height = 1, .width = 1});
  data.pixels = std::vector<float>{0.0F, 0.2F, 1.0F};
  const Picture grid = sample_grid(data, {.columns = 1, .scale = 1}, bits);
  EXPECT_EQ(grid.shape.channels, 3);
  EXPECT_EQ(at(grid, kGap, kGap, 0), 0);
  EXPECT_EQ(at(grid, kGap, kGap, 1), 51);
  EXPECT_EQ(at(grid, kGap, kGap, 2), 255);
  for (int channel = 0; channel < 3; ++channel) EXPECT_EQ(at(grid, 0, 0, channel), kPaper);
}

}  // namespace
}  // namespace obol::data
