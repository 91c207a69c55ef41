#include "obol/data/sheets.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/data/reader.h"
#include "obol/data/testing.h"

namespace obol::data {
namespace {

using testing::bytes_of;
using testing::plain_picture;
using testing::png;
using testing::PngHeader;
using testing::put;
using testing::refusal;
using testing::says;

constexpr ImageShape kRow{.channels = 3, .height = 1, .width = 2};

// Rows of two pixels in colour, the bytes as they follow each other.
std::string colour_sheet(const std::vector<std::string>& rows) {
  std::string filtered;
  for (const std::string& row : rows) filtered += '\0' + row;
  return png(PngHeader{.width = 2,
                       .height = static_cast<std::uint32_t>(rows.size()),
                       .depth = 8,
                       .colour_type = 2},
             filtered);
}

class SheetsIn {
 public:
  explicit SheetsIn(const std::vector<std::string>& sheets, const std::string& labels) {
    for (std::size_t i = 0; i < sheets.size(); ++i)
      sheets_.images.push_back(put(folder_.path(), std::to_string(i) + ".png", sheets[i]));
    sheets_.labels = put(folder_.path(), "labels.json", labels);
  }

  [[nodiscard]] Path path() const { return folder_.path(); }
  void write(const std::string& start) const { write_idx_of_sheets(sheets_, path(), start); }
  [[nodiscard]] std::string refused() const {
    std::string message = refusal([&] { write("train-"); });
    EXPECT_FALSE(std::filesystem::exists(path() / "train-images-idx4-ubyte"));
    EXPECT_FALSE(std::filesystem::exists(path() / "train-labels-idx1-ubyte"));
    return message;
  }

 private:
  TemporaryFolder folder_;
  Sheets sheets_{.images = {}, .labels = {}, .shape = kRow, .classes = 3};
};

TEST(Sheets, BecomeRecordsInTheOrderOfTheirRows) {
  const SheetsIn sheets({colour_sheet({"abcdef", "ghijkl"}), colour_sheet({"mnopqr"})}, "[2,0,1]");
  sheets.write("train-");
  const Dataset data = read(sheets.path().string());
  EXPECT_EQ(data.shape, kRow);
  EXPECT_EQ(data.labels, (std::vector<std::int32_t>{2, 0, 1}));
  const std::string planes =
      "adbecf"
      "gjhkil"
      "mpnqor";
  EXPECT_EQ(bytes_of(data), std::vector<std::uint8_t>(planes.begin(), planes.end()));
}

TEST(Sheets, BecomeTheSplitThatTheyAreNamedAfter) {
  const SheetsIn sheets({colour_sheet({"abcdef"})}, "[1]");
  sheets.write("t10k-");
  EXPECT_EQ(read(sheets.path().string(), {.split = Split::kTest}).count(), 1);
  EXPECT_TRUE(says(refusal([&] { (void)read(sheets.path().string()); }), {"train-images"}));
}

TEST(Sheets, AreRefusedWhereRowsAndLabelsAreNotAsMany) {
  const std::string sheet = colour_sheet({"abcdef", "ghijkl"});
  EXPECT_TRUE(says(SheetsIn({sheet}, "[0]").refused(),
                   {"number of labels must be 2, the number of rows", "labels.json"}));
  EXPECT_TRUE(says(SheetsIn({sheet, sheet}, "[0,1,2,0,1]").refused(), {"must be 4", "5"}));
}

TEST(Sheets, AreRefusedWithLabelsThatAreNoClasses) {
  const std::string sheet = colour_sheet({"abcdef", "ghijkl"});
  for (const char* label : {"3", "-1", "1.5", "\"1\"", "null", "[1]", "18446744073709551616"})
    EXPECT_TRUE(says(SheetsIn({sheet}, "[0," + std::string(label) + "]").refused(),
                     {"label 1", "whole number from 0 to 2", "labels.json"}))
        << label;
  for (const char* labels : {"", "[", "{}", "0", "[]", "[0,1", "[0 1]"})
    EXPECT_TRUE(says(SheetsIn({sheet}, labels).refused(), {"JSON array", "labels.json"})) << labels;
}

TEST(Sheets, AreRefusedWithRowsOfAnotherSize) {
  const ImageShape wide{.channels = 3, .height = 1, .width = 3};
  EXPECT_TRUE(says(SheetsIn({png(plain_picture(wide, 7))}, "[0]").refused(),
                   {"2 pixels wide with 3 channels", "3 wide with 3", "0.png"}));
  const ImageShape grey{.channels = 1, .height = 1, .width = 2};
  EXPECT_TRUE(says(SheetsIn({png(plain_picture(grey, 7))}, "[0]").refused(), {"2 wide with 1"}));
  EXPECT_TRUE(says(SheetsIn({"no PNG"}, "[0]").refused(), {"PNG", "0.png"}));
}

}  // namespace
}  // namespace obol::data
