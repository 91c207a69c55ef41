#include "obol/method/dp_merf/features.h"

#include <cmath>

#include <gtest/gtest.h>

namespace obol::method::dp_merf {
namespace {

using torch::Tensor;

TEST(FourierFeatures, HaveLengthOneWhateverTheImage) {
  torch::manual_seed(1);
  const FourierFeatures features(50, {.frequencies = 40, .frequency = 0.7});
  const Tensor images =
      torch::cat({torch::rand({5, 50}), torch::zeros({1, 50}), torch::full({1, 50}, 1e6)});
  EXPECT_EQ(features.dimension(), 80);
  const Tensor norms = features.of_records(images).norm(2, {1});
  EXPECT_TRUE(torch::allclose(norms, torch::ones_like(norms), 1e-14, 0));
}

TEST(FourierFeatures, AreThoseOfTheFormula) {
  torch::manual_seed(2);
  const FourierFeatures features(30, {.frequencies = 25, .frequency = 0.5});
  const Tensor images = torch::rand({7, 30});
  // Two roads: floats that can be differentiated, and exact phases in double.
  EXPECT_TRUE(
      torch::allclose(features(images).to(torch::kDouble), features.of_records(images), 0, 1e-5));
}

// Bochner: inner products are, on average over frequencies, those of the Gaussian kernel. With
// 20,000 frequencies a mean of numbers in [-1, 1] is off by more than 0.05 with a probability below
// 2 exp(-20,000 0.05^2 / 2) < 1e-10; the seed is fixed.
TEST(FourierFeatures, HaveInnerProductsOfTheGaussianKernel) {
  torch::manual_seed(3);
  const double frequency = 0.3;
  const FourierFeatures features(20, {.frequencies = 20'000, .frequency = frequency});
  const Tensor x = torch::rand({4, 20});
  const Tensor rows = features.of_records(x);
  const Tensor squared = torch::cdist(x, x).square().to(torch::kDouble);
  const Tensor kernel = (squared * (-frequency * frequency / 2)).exp();
  EXPECT_LT((torch::mm(rows, rows.t()) - kernel).abs().max().item<double>(), 0.05);
}

// What a sum of records with a proved sensitivity rests on.
TEST(FourierFeatures, OfARecordAreTheSameToTheLastBitWhereverItLies) {
  torch::manual_seed(4);
  for (const std::int64_t pixels : {1, 28 * 28, 3 * 32 * 32}) {
    const FourierFeatures features(pixels, {.frequencies = 130, .frequency = 0.2});
    const Tensor images = torch::rand({70, pixels}) * 2 - 1;
    const Tensor all = features.of_records(images);
    for (const std::int64_t from : {0, 1, 33, 69}) {
      const Tensor part = features.of_records(images.slice(0, from));
      EXPECT_TRUE(part.equal(all.slice(0, from))) << pixels << " pixels from " << from;
      const Tensor one = features.of_records(images.slice(0, from, from + 1));
      EXPECT_TRUE(one.equal(all.slice(0, from, from + 1))) << pixels << " pixels, alone " << from;
    }
  }
}

TEST(FourierFeatures, HaveTheGradientOfFiniteDifferences) {
  torch::manual_seed(5);
  const FourierFeatures features(6, {.frequencies = 9, .frequency = 0.4});
  const Tensor direction = torch::randn({18});
  const auto value = [&](const Tensor& x) { return (features(x) * direction).sum(); };
  const Tensor x = torch::rand({1, 6}).requires_grad_();
  const Tensor gradient = torch::autograd::grad({value(x)}, {x})[0];
  constexpr double kStep = 1e-2;
  for (std::int64_t j = 0; j < 6; ++j) {
    Tensor moved = torch::zeros({1, 6});
    moved[0][j] = kStep;
    const torch::NoGradGuard no_grad;
    const double slope = (value(x + moved) - value(x - moved)).item<double>() / (2 * kStep);
    EXPECT_NEAR(gradient[0][j].item<double>(), slope, 2e-4);
  }
}

}  // namespace
}  // namespace obol::method::dp_merf
