#include "obol/app/request.h"

#include <gtest/gtest.h>

namespace obol::app {
namespace {

TEST(BadRequest, SaysItsFieldFirst) {
  const BadRequest bad("suite_records", "at least 2", 1, "here");
  EXPECT_STREQ(bad.what(), "suite_records must be at least 2, but is 1 (here)");
  EXPECT_EQ(bad.field(), "suite_records");
  EXPECT_EQ(bad.rest(), " must be at least 2, but is 1 (here)");
  EXPECT_EQ(bad.exit_code(), ExitCode::kUsage);
}

}  // namespace
}  // namespace obol::app
