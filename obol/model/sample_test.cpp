#include "obol/model/sample.h"

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::model {
namespace {

TEST(Sample, MakesEveryClassInTurnOrOneAlone) {
  const auto generator = make_generator({.width = 2}, {1, 28, 28}, 3);
  const data::Dataset all = sample(*generator, {.count = 1001, .seed = 1});
  EXPECT_EQ(all.count(), 1001);
  EXPECT_EQ(data::class_counts(all), (std::vector<std::int64_t>{334, 334, 333}));
  const data::Dataset one = sample(*generator, {.count = 7, .label = 2, .seed = 1});
  EXPECT_EQ(data::class_counts(one), (std::vector<std::int64_t>{0, 0, 7}));
}

TEST(Sample, IsTheSameWithTheSameSeedOnly) {
  const auto generator = make_generator({.width = 2, .output = "tanh"}, {1, 28, 28}, 0);
  const auto with = [&](std::optional<std::int64_t> seed) {
    return sample(*generator, {.count = 3, .seed = seed});
  };
  EXPECT_EQ(with(5).pixels, with(5).pixels);
  EXPECT_NE(with(5).pixels, with(6).pixels);
  EXPECT_NE(with({}).pixels, with({}).pixels);
  EXPECT_FALSE(with(5).is_labelled());
}

TEST(Sample, RefusesLabelsThatAreNone) {
  const auto generator = make_generator({.width = 2}, {1, 28, 28}, 3);
  EXPECT_THROW(sample(*generator, {.count = 1, .label = 3}), InvalidArgument);
  EXPECT_THROW(sample(*generator, {.count = 1, .label = -1}), InvalidArgument);
  EXPECT_THROW(sample(*generator, {.count = 0}), InvalidArgument);
  const auto unconditional = make_generator({.width = 2}, {1, 28, 28}, 0);
  EXPECT_THROW(sample(*unconditional, {.count = 1, .label = 0}), InvalidArgument);
}

}  // namespace
}  // namespace obol::model
