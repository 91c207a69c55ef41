#include "obol/features/fourier.h"

#include <cmath>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::features {
namespace {

using torch::Tensor;

TEST(FourierFeatures, HaveLengthOneWhateverTheImage) {
  torch::manual_seed(1);
  const FourierFeatures features(50, {.count = 40, .frequencies = {0.7}});
  const Tensor images =
      torch::cat({torch::rand({5, 50}), torch::zeros({1, 50}), torch::full({1, 50}, 1e6)});
  EXPECT_EQ(features.dimension(), 80);
  const Tensor norms = features.of_records(images).norm(2, {1});
  EXPECT_TRUE(torch::allclose(norms, torch::ones_like(norms), 1e-14, 0));
}

TEST(FourierFeatures, AreThoseOfTheFormula) {
  torch::manual_seed(2);
  const FourierFeatures features(30, {.count = 25, .frequencies = {0.5}});
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
  const FourierFeatures features(20, {.count = 20'000, .frequencies = {frequency}});
  const Tensor x = torch::rand({4, 20});
  const Tensor rows = features.of_records(x);
  const Tensor squared = torch::cdist(x, x).square().to(torch::kDouble);
  const Tensor kernel = (squared * (-frequency * frequency / 2)).exp();
  EXPECT_LT((torch::mm(rows, rows.t()) - kernel).abs().max().item<double>(), 0.05);
}

// The same with half of the frequencies for each of two kernels.
TEST(FourierFeatures, OfSeveralBandwidthsHaveTheMeanOfTheirKernels) {
  torch::manual_seed(6);
  const FourierFeatures features(20, {.count = 40'000, .frequencies = {0.2, 1.5}});
  const Tensor x = torch::rand({4, 20});
  const Tensor rows = features.of_records(x);
  const Tensor squared = torch::cdist(x, x).square().to(torch::kDouble);
  const Tensor kernel =
      ((squared * (-0.2 * 0.2 / 2)).exp() + (squared * (-1.5 * 1.5 / 2)).exp()) / 2;
  EXPECT_LT((torch::mm(rows, rows.t()) - kernel).abs().max().item<double>(), 0.05);
}

TEST(FourierFeatures, OfOneBandwidthAreThoseOfTheSameBandwidthTwice) {
  torch::manual_seed(7);
  const Tensor x = torch::rand({3, 10});
  const FourierFeatures once(10, {.count = 8, .frequencies = {0.3}});
  const FourierFeatures twice(10, {.count = 8, .frequencies = {0.3, 0.3}});
  EXPECT_TRUE(once.of_records(x).equal(twice.of_records(x)));
}

TEST(FourierFeatures, TakeRecordsUpToTheirBound) {
  torch::manual_seed(8);
  const Tensor x = (torch::rand({5, 12}) * 2 - 1) * 6;
  const auto features = [](double bound) {
    return FourierFeatures(12, {.count = 30, .frequencies = {0.4}, .bound = bound});
  };
  for (const double bound : {0.3, 1.0, 2.5, 6.0}) {
    const Tensor inside = x.clamp(-bound, bound);
    EXPECT_TRUE(features(bound).of_records(x).equal(features(bound).of_records(inside)));
    EXPECT_TRUE(torch::allclose(features(bound).of_records(x),
                                features(bound)(inside.to(torch::kDouble)), 0, 1e-3));
  }
  EXPECT_FALSE(torch::allclose(features(1).of_records(x), features(6).of_records(x), 0, 0.1));
}

TEST(FourierFeatures, RefuseWhatHasNoKernel) {
  EXPECT_THROW(FourierFeatures(0, {.count = 4, .frequencies = {1}}), InvalidArgument);
  EXPECT_THROW(FourierFeatures(3, {.count = 4, .frequencies = {}}), InvalidArgument);
  EXPECT_THROW(FourierFeatures(3, {.count = 5, .frequencies = {1, 2}}), InvalidArgument);
  EXPECT_THROW(FourierFeatures(3, {.count = 4, .frequencies = {-1}}), InvalidArgument);
  EXPECT_THROW(FourierFeatures(3, {.count = 4, .frequencies = {1}, .bound = 0}), InvalidArgument);
}

// What a sum of records with a proved sensitivity rests on.
TEST(FourierFeatures, OfARecordAreTheSameToTheLastBitWhereverItLies) {
  torch::manual_seed(4);
  for (const std::int64_t pixels : {1, 28 * 28, 3 * 32 * 32}) {
    const FourierFeatures features(pixels, {.count = 130, .frequencies = {0.2}});
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

TEST(FourierFeatures, KeepWhatIsNotFiniteInItsOwnRow) {
  torch::manual_seed(9);
  const FourierFeatures features(40, {.count = 30, .frequencies = {0.2}, .bound = 2});
  Tensor images = torch::rand({9, 40});
  const Tensor expected = features.of_records(images);
  images[4][7] = std::nanf("");
  const Tensor rows = features.of_records(images);
  EXPECT_TRUE(rows.slice(0, 0, 4).equal(expected.slice(0, 0, 4)));
  EXPECT_TRUE(rows.slice(0, 5).equal(expected.slice(0, 5)));
  EXPECT_TRUE(rows[4].isnan().all().item<bool>());
}

TEST(FourierFeatures, HaveTheGradientOfLibTorchsOwnOperators) {
  torch::manual_seed(10);
  const FourierFeatures features(33, {.count = 70, .frequencies = {0.1, 2}});
  const Tensor images = torch::rand({21, 33});
  const Tensor direction = torch::randn({21, 140});
  const auto gradient = [&](torch::Dtype type) {
    const Tensor x = images.to(type).detach().requires_grad_();
    return torch::autograd::grad({(features(x) * direction.to(type)).sum()}, {x})[0];
  };
  EXPECT_TRUE(torch::allclose(gradient(torch::kFloat).to(torch::kDouble), gradient(torch::kDouble),
                              0, 2e-5));
}

TEST(FourierFeatures, HaveTheGradientOfFiniteDifferences) {
  torch::manual_seed(5);
  const FourierFeatures features(6, {.count = 9, .frequencies = {0.4}});
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
}  // namespace obol::features
