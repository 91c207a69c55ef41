// The files themselves are read by tests/run/tensorboard_test.py.
#include "obol/run/tensorboard.h"

#include <filesystem>

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

}  // namespace
}  // namespace obol::run
