#include "obol/evaluate/quality.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace obol::evaluate {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Quality figure(double value, std::vector<double> per_class, double between_real) {
  return {.name = "distance",
          .value = value,
          .per_class = std::move(per_class),
          .between_real = between_real,
          .against = "test"};
}

TEST(Average, HasMeanAndDeviationOfEachFigure) {
  const std::vector<Quality> found =
      average({{{.name = "other", .value = 7}, figure(1, {4, kNan, kNan}, 0.1)},
               {figure(3, {6, 2, kNan}, 0.3), {.name = "other", .value = 7}}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "other");
  EXPECT_EQ(found[0].value, 7);
  EXPECT_EQ(found[0].deviation, 0);
  EXPECT_DOUBLE_EQ(*found[1].value, 2);
  EXPECT_DOUBLE_EQ(*found[1].deviation, std::sqrt(2));
  EXPECT_DOUBLE_EQ(*found[1].between_real, 0.2);
  EXPECT_EQ(found[1].against, "test");
  ASSERT_EQ(found[1].per_class.size(), 3U);
  EXPECT_DOUBLE_EQ(found[1].per_class[0], 5);
  EXPECT_DOUBLE_EQ(found[1].per_class[1], 2) << "where one repetition has none";
  EXPECT_TRUE(std::isnan(found[1].per_class[2]));
}

TEST(Average, OfOneRepetitionIsThat) {
  const std::vector<Quality> found = average({{{.name = "score", .value = 8, .deviation = 0.5}}});
  EXPECT_EQ(found.at(0).value, 8);
  EXPECT_EQ(found.at(0).deviation, 0.5);
}

}  // namespace
}  // namespace obol::evaluate
