// The files themselves are read by tests/run/tensorboard_test.py.
#include "obol/run/tensorboard.h"

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace obol::run {
namespace {

TEST(Crc32c, IsThatOfTheStandard) {  // RFC 3720, B.4, and the customary check value
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(""), 0U);
}

TEST(TensorBoard, GivesEachSessionAFileOfItsOwn) {
  const TemporaryFolder folder;
  for (std::int64_t session = 0; session < 3; ++session) TensorBoard(folder.path() / "t", session);
  std::int64_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "t")) {
    EXPECT_NE(entry.path().string().find("tfevents"), std::string::npos);
    ++count;
  }
  EXPECT_EQ(count, 3);
}

// A float has 24 bits, and the one nearest to an epsilon may be smaller than it is.
TEST(TensorBoard, NeverRoundsAnEpsilonDown) {
  const TemporaryFolder folder;
  const std::vector<double> values = {0.7, 0.1, 1.0, 9.81162, 844.3086, 3e-9};
  {
    TensorBoard board(folder.path(), 0);
    for (std::size_t i = 0; i < values.size(); ++i)
      board.scalars(static_cast<std::int64_t>(i) + 1,
                    {{kEpsilonName, Public(values[i], Origin::kReleased)}});
  }
  const Path file = std::filesystem::directory_iterator(folder.path())->path();
  const std::string bytes = read_text(file, 1 << 20);
  std::size_t at = 0;
  for (const double value : values) {
    at = bytes.find(std::string(kEpsilonName) + '\x15', at) + std::string(kEpsilonName).size() + 1;
    float found = 0;
    std::memcpy(&found, bytes.data() + at, sizeof found);
    EXPECT_GE(found, value);
    EXPECT_LE(found, value * (1 + 2e-7));
  }
}

}  // namespace
}  // namespace obol::run
