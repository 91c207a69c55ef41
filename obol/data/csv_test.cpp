#include "obol/data/csv.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/testing.h"

namespace obol::data {
namespace {

using testing::floats_of;
using testing::gzip;
using testing::in_memory;
using testing::put;
using testing::refusal;
using testing::says;
using testing::usage_refusal;

using CsvLabels = std::vector<std::int32_t>;
using Values = std::vector<std::uint8_t>;

// Numbers are from 0 to 255 where nothing else is said.
Dataset read_text_as_csv(const std::string& text, ReadOptions options = {}) {
  if (!options.declared.range) options.declared.range = ValueRange{.low = 0, .high = 255};
  return read_csv(in_memory(text), options);
}

std::vector<std::uint8_t> whole_numbers(const Dataset& data) {
  std::vector<std::uint8_t> numbers;
  for (const float pixel : floats_of(data))
    numbers.push_back(static_cast<std::uint8_t>(std::lround(pixel * 255)));
  return numbers;
}

std::string csv_refusal(const std::string& text, const ReadOptions& options = {}) {
  return refusal([&] { (void)read_text_as_csv(text, options); });
}

TEST(Csv, TakesTheLabelFromTheColumnOfThatName) {
  for (const std::string header : {"a,label,b", "a,class,b", "a, Label ,b"}) {
    const Dataset data = read_text_as_csv(header + "\n1,2,3\n4,0,6\n");
    EXPECT_EQ(data.labels, (CsvLabels{2, 0})) << header;
    EXPECT_EQ(whole_numbers(data), (Values{1, 3, 4, 6})) << header;
    EXPECT_EQ(data.shape, (ImageShape{.channels = 1, .height = 1, .width = 2}));
    EXPECT_EQ(data.num_classes(), 3);
    EXPECT_EQ(data.declared_size, 2);
  }
}

TEST(Csv, WithAHeaderThatNamesNoLabelIsUnlabelled) {
  const Dataset data = read_text_as_csv("p0,p1,p2,p3,p4\n1,2,3,4,5\n");
  EXPECT_FALSE(data.is_labelled());
  EXPECT_EQ(data.shape.width, 5);
}

TEST(Csv, WithoutAHeaderTakesTheFirstColumnWhereTheRestIsASquare) {
  const Dataset data = read_text_as_csv("7,1,2,3,4\n3,5,6,7,8\n");
  EXPECT_EQ(data.labels, (CsvLabels{7, 3}));
  EXPECT_EQ(data.shape, (ImageShape{.channels = 1, .height = 2, .width = 2}));
  EXPECT_EQ(whole_numbers(data), (Values{1, 2, 3, 4, 5, 6, 7, 8}));
  EXPECT_FALSE(read_text_as_csv("1,2,3,4\n").is_labelled());
  EXPECT_FALSE(read_text_as_csv("1,2,3\n").is_labelled());
}

TEST(Csv, TakesTheColumnThatIsAskedFor) {
  const std::string named = "digit,a,b\n9,1,2\n";
  EXPECT_EQ(read_text_as_csv(named, {.label_column = "digit"}).labels, CsvLabels{9});
  EXPECT_EQ(read_text_as_csv(named, {.label_column = "Digit"}).labels, CsvLabels{9});
  EXPECT_EQ(read_text_as_csv(named, {.label_column = "2"}).labels, CsvLabels{2});
  EXPECT_EQ(read_text_as_csv("1,2,3\n", {.label_column = "1"}).labels, CsvLabels{2});
  EXPECT_FALSE(read_text_as_csv("7,1,2,3,4\n", {.label_column = "none"}).is_labelled());
  EXPECT_FALSE(read_text_as_csv("label,a\n7,1\n", {.label_column = "none"}).is_labelled());
}

TEST(Csv, RefusesAColumnThatIsNotThere) {
  for (const char* column : {"colour", "3", "-1", ""})
    EXPECT_TRUE(says(usage_refusal([&] {
                       (void)read_text_as_csv("label,a,b\n9,1,2\n", {.label_column = column});
                     }),
                     {"label column", "test.bin:1"}));
}

TEST(Csv, ScalesFromTheDeclaredRange) {
  EXPECT_EQ(floats_of(read_text_as_csv("0,0.5\n1,2.5e-1\n", {.declared = {.range = ValueRange{}}})),
            (std::vector<float>{0, 0.5, 1, 0.25}));
  const ReadOptions options{.declared = {.range = ValueRange{.low = -1, .high = 1}}};
  EXPECT_EQ(floats_of(read_text_as_csv("-1,0\n1,0.5\n-7,7\n", options)),
            (std::vector<float>{0, 0.5, 1, 0.75, 0, 1}));
}

TEST(Csv, ReadsNumbersHoweverWritten) {
  EXPECT_EQ(whole_numbers(read_text_as_csv("0, 7 ,255.0\n2e1,1,2\n")),
            (Values{0, 7, 255, 20, 1, 2}));
}

TEST(Csv, MustSayWhatItsNumbersMean) {
  const std::string text = "0,1\n1,1\n";
  EXPECT_TRUE(says(usage_refusal([&] { (void)read_csv(in_memory(text)); }),
                   {"data.range must be declared", "test.bin.declaration.toml"}));
}

TEST(Csv, LetsNoRecordDecideWhatTheOthersMean) {
  const ReadOptions unit{.declared = {.range = ValueRange{}}};
  for (const std::string third : {"0,1", "2,0", "255,0.5", "-1,1e9", "nan,1", "inf,-inf"}) {
    const std::vector<float> pixels =
        floats_of(read_text_as_csv("0,1\n1,0\n" + third + "\n", unit));
    EXPECT_EQ(std::vector<float>(pixels.begin(), pixels.begin() + 4),
              (std::vector<float>{0, 1, 1, 0}))
        << third;
  }
}

TEST(Csv, KnowsAHeaderWhoseColumnsAreNumbered) {
  const Dataset data = read_text_as_csv("label,0,1,2,3\n7,1,2,3,4\n");
  EXPECT_EQ(data.labels, CsvLabels{7});
  EXPECT_EQ(whole_numbers(data), (Values{1, 2, 3, 4}));
  EXPECT_TRUE(says(csv_refusal("1,oops,3,4\n5,6,7,8\n"), {"test.bin:1", "cell 1"}));
}

TEST(Csv, RefusesWhatIsNoNumberWithLineAndCell) {
  for (const std::string cell : {"x", "", "1.5.2", "0x10", "1e999", "1 2"})
    EXPECT_TRUE(says(csv_refusal("1,2\n3," + cell + "\n"), {"test.bin:2", "cell 1", "number"}))
        << cell;
}

TEST(Csv, TellsNothingOfTheRecordThatIsNotAsDeclared) {
  const ReadOptions options{.declared = {.classes = 3}, .reading = Reading::kPrivate};
  const std::string expected = csv_refusal("label,a\n1,1\n7,1\n", options);
  EXPECT_TRUE(says(expected, {"test.bin", "as declared", "3 classes", "outside"}));
  for (const std::string line : {"-1,1", "0.5,1", "nan,1", "x,1", "1,x", "1", "1,2,3", "1,"}) {
    EXPECT_EQ(csv_refusal("label,a\n1,1\n" + line + "\n", options), expected) << line;
    EXPECT_EQ(csv_refusal("label,a\n" + line + "\n1,1\n1,1\n", options), expected) << line;
  }
}

TEST(Csv, MapsWhatIsNotAsDeclared) {
  const ReadOptions options{.declared = {.classes = 3,
                                         .size = ImageSize{.width = 2, .height = 1},
                                         .outside = Outside::kMap},
                            .reading = Reading::kPrivate};
  const Dataset data =
      read_text_as_csv("1,2,3\n9,4,5\n-1,6,7\n2,x,8\n1\n1,2,3,4\n1,9,nan\n", options);
  EXPECT_EQ(data.labels, (CsvLabels{1, 2, 0, 0, 0, 0, 1}));
  EXPECT_EQ(whole_numbers(data), (Values{2, 3, 4, 5, 6, 7, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(data.num_classes(), 3);
}

TEST(Csv, RefusesLabelsThatAreNoClasses) {
  for (const std::string label : {"0.5", "-1", "65536"})
    EXPECT_TRUE(
        says(csv_refusal("label,a\n1,1\n" + label + ",1\n"), {"test.bin", "label 1", label}));
}

TEST(Csv, RefusesAnotherNumberOfCellsWithTheLine) {
  EXPECT_TRUE(says(csv_refusal("1,2,3\n\n4,5\n"), {"test.bin:3", "3 cells", "2 cells"}));
  EXPECT_TRUE(says(csv_refusal("a,b\n1,2,3\n"), {"test.bin:2", "2 cells", "3 cells"}));
}

TEST(Csv, ReadsAnyLineEndsAndEmptyLines) {
  const Values expected = {1, 2, 3, 4};
  for (const std::string text :
       {"1,2\n3,4\n", "1,2\n3,4", "1,2\r\n3,4\r\n", "1,2\r\n3,4", "\n\n1,2\n\n  \r\n3,4\n\n\n"}) {
    const Dataset data = read_text_as_csv(text);
    EXPECT_EQ(whole_numbers(data), expected);
    EXPECT_EQ(data.count(), 2);
  }
  EXPECT_EQ(read_text_as_csv("a,label\r\n1,2\r\n").labels, CsvLabels{2});
}

TEST(Csv, ReadsGzip) {
  std::string text = "label,a,b\n";
  for (int i = 0; i < 20000; ++i) text += std::to_string(i % 10) + ",1,2\n";
  const Dataset data = read_text_as_csv(gzip(text));
  EXPECT_EQ(data.count(), 20000);
  EXPECT_EQ(data.labels.at(12347), 7);
  EXPECT_TRUE(says(csv_refusal(gzip(text), {.limits = {.max_bytes = 1000}}), {"1000 bytes"}));
  const std::string packed = gzip(text);
  EXPECT_TRUE(says(csv_refusal(packed.substr(0, packed.size() / 2)), {"cut off", "test.bin"}));
}

TEST(Csv, RefusesAFileWithoutRecordsOrPixels) {
  for (const std::string text : {"", "\n \n", "label,a\n"})
    EXPECT_TRUE(says(csv_refusal(text), {"records", "test.bin"}));
  EXPECT_TRUE(says(csv_refusal("label\n1\n"), {"pixels", "test.bin:1"}));
}

TEST(Csv, RefusesALineThatNeverEnds) {
  EXPECT_TRUE(says(csv_refusal(std::string((1 << 24) + 1, '1')), {"CSV line", "test.bin"}));
}

TEST(Csv, HasNoTestSplit) {
  const TemporaryFolder folder;
  const Path path = put(folder.path(), "a.csv", "1,2\n");
  EXPECT_TRUE(says(refusal([&] { (void)read(path.string(), {.split = Split::kTest}); }),
                   {"test split", path.string()}));
}

}  // namespace
}  // namespace obol::data
