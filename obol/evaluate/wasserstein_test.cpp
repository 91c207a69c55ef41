#include "obol/evaluate/wasserstein.h"

#include <cmath>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

LabelledImages noise(std::int64_t count, std::int64_t classes) {
  return {torch::rand({count, 1, 6, 6}), at::arange(count, at::kLong).remainder(classes)};
}

TEST(Wasserstein, OfShiftedImagesIsTheShift) {
  torch::manual_seed(1);
  const LabelledImages real = noise(120, 3);
  LabelledImages moved{real.images.clone(), real.labels};
  moved.images += 0.5 * real.labels.view({-1, 1, 1, 1});
  const Wasserstein found = wasserstein(moved, real, 3);
  for (std::size_t label = 0; label < 3; ++label) {
    const double shift = 0.5 * static_cast<double>(label) * 6;  // in each of 36 pixels
    EXPECT_NEAR(found.exact.per_class[label], shift, 1e-6);
    EXPECT_NEAR(found.entropic.per_class[label], shift, 1e-3);
  }
  EXPECT_NEAR(found.exact.value, 3, 1e-6);
}

TEST(Wasserstein, KeepsClassesApart) {
  const LabelledImages real{torch::tensor({0.0F, 1.0F, 0.0F, 1.0F}).view({4, 1, 1, 1}),
                            torch::tensor({0, 1, 0, 1}, at::kLong)};
  LabelledImages swapped = real;
  swapped.labels = 1 - real.labels;
  EXPECT_NEAR(wasserstein(swapped, real, 2).exact.value, 1, 1e-9);
}

TEST(Wasserstein, LeavesOutClassesThatOneSideLacks) {
  torch::manual_seed(2);
  const LabelledImages real = noise(60, 3);
  const LabelledImages two = noise(60, 2);
  const Wasserstein found = wasserstein(two, real, 4, {.per_class = 10});
  EXPECT_TRUE(std::isnan(found.exact.per_class[2]));
  EXPECT_TRUE(std::isnan(found.entropic.per_class[3]));
  EXPECT_NEAR(found.exact.value, (found.exact.per_class[0] + found.exact.per_class[1]) / 2, 1e-12);
  const LabelledImages other{two.images, torch::full_like(two.labels, 3)};
  EXPECT_THROW(wasserstein(other, real, 4), InvalidArgument);
}

}  // namespace
}  // namespace obol::evaluate
