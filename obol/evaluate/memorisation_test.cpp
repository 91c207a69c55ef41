#include "obol/evaluate/memorisation.h"

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

// Points on a curved surface of few dimensions in a space of many, as images are.
Tensor images(std::int64_t count) {
  const Tensor latent = torch::randn({count, 6});
  const auto generator = at::make_generator<at::CPUGeneratorImpl>(99);
  const Tensor mix = torch::randn({6, 64}, generator, torch::kFloat);
  return torch::sigmoid(torch::mm(latent, mix)).view({count, 1, 8, 8});
}

TEST(Memorisation, OfIndependentSamplesIsOne) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    torch::manual_seed(seed);
    const Memorisation found = memorisation(images(1500), images(3000), images(800));
    EXPECT_LT(found.low, 1) << seed;
    EXPECT_GT(found.high, 1) << seed;
    EXPECT_LT(found.high - found.low, 0.2) << seed;
    EXPECT_EQ(found.samples, 1000);
    EXPECT_EQ(found.references, 800);
  }
}

TEST(Memorisation, FindsCopies) {
  torch::manual_seed(1);
  const Tensor training = images(800);
  const Tensor copies = training + 0.01 * torch::randn_like(training);
  const Memorisation all = memorisation(copies, training, images(800));
  EXPECT_LT(all.ratio, 0.3);
  EXPECT_LT(all.high, 0.5);
  EXPECT_LE(all.low, all.ratio);
  EXPECT_GE(all.high, all.ratio);
}

TEST(Memorisation, FindsFewCopiesAndShowsThemFirst) {
  torch::manual_seed(2);
  const Tensor training = images(800);
  Tensor synthetic = images(900);
  for (std::int64_t k = 0; k < 5; ++k) synthetic[100 + k].copy_(training[7 * k]);
  const Memorisation found =
      memorisation(synthetic, training, images(800), {.samples = 900, .closest = 6});
  ASSERT_EQ(found.closest.size(), 6);
  for (std::size_t k = 0; k < 5; ++k) {
    const ClosePair& pair = found.closest[k];
    EXPECT_EQ(pair.training, 7 * (pair.synthetic - 100));
    EXPECT_EQ(pair.distance, 0);
  }
  EXPECT_GT(found.closest[5].distance, 0);
}

// Copies of held-out images push the other way.
TEST(Memorisation, IsAboveOneForWhatWasTakenFromTheOthers) {
  torch::manual_seed(3);
  const Tensor others = images(800);
  EXPECT_GT(memorisation(others + 0.01 * torch::randn_like(others), images(800), others).low, 2);
}

TEST(Memorisation, RefusesWhatCannotBeCompared) {
  EXPECT_THROW(memorisation(images(100), images(100), images(19)), InvalidArgument);
  const Tensor same = images(100);
  EXPECT_THROW(memorisation(same, images(100), same), InvalidArgument);
}

}  // namespace
}  // namespace obol::evaluate
