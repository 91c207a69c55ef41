#include "obol/evaluate/frechet.h"

#include <cmath>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

Tensor gaussian(std::int64_t rows, std::int64_t width) {
  return torch::randn({rows, width}, torch::kDouble);
}

TEST(FrechetDistance, OfDiagonalGaussiansIsTheClosedForm) {
  torch::manual_seed(1);
  const Tensor scale = torch::linspace(0.5, 3, 20, torch::kDouble);
  const Tensor other = torch::linspace(2, 1, 20, torch::kDouble);
  const double expected = 20 * 0.25 + (scale - other).square().sum().item<double>();
  const Moments first = moments_of(gaussian(200000, 20) * scale);
  const Moments second = moments_of(gaussian(200000, 20) * other + 0.5);
  EXPECT_NEAR(frechet_distance(first, second) / expected, 1, 0.01);
}

// Of matrices that do not commute, in the plane: tr((A B)^1/2) = sqrt(tr(A B) + 2 sqrt(det(A B))).
TEST(FrechetDistance, OfCorrelatedGaussiansIsTheClosedForm) {
  torch::manual_seed(2);
  const Tensor mix = torch::tensor({{1.0, 0.4}, {0.0, 0.8}}, torch::kDouble);
  const Tensor other = torch::tensor({{0.3, 0.0}, {-1.2, 2.0}}, torch::kDouble);
  const Tensor a = torch::mm(mix.t(), mix);
  const Tensor b = torch::mm(other.t(), other);
  const Tensor product = torch::mm(a, b);
  const double middle = std::sqrt(product.trace().item<double>() +
                                  2 * std::sqrt(torch::linalg_det(product).item<double>()));
  const double expected = (a.trace() + b.trace()).item<double>() - 2 * middle;
  const Moments exact_first{torch::zeros(2, torch::kDouble), a, 2};
  const Moments exact_second{torch::zeros(2, torch::kDouble), b, 2};
  EXPECT_NEAR(frechet_distance(exact_first, exact_second), expected, 1e-12);
  const Moments first = moments_of(torch::mm(gaussian(400000, 2), mix));
  const Moments second = moments_of(torch::mm(gaussian(400000, 2), other));
  EXPECT_NEAR(frechet_distance(first, second) / expected, 1, 0.01);
}

TEST(FrechetDistance, OfEqualMomentsIsZero) {
  torch::manual_seed(3);
  const Moments moments = moments_of(gaussian(500, 30) * 10 + 100);
  EXPECT_NEAR(frechet_distance(moments, moments), 0, 1e-9);
}

// Fewer rows than columns, constant columns, and one point repeated.
TEST(FrechetDistance, TakesSingularCovariances) {
  torch::manual_seed(4);
  const Tensor few = gaussian(10, 40);
  const Moments low = moments_of(few);
  EXPECT_NEAR(frechet_distance(low, low), 0, 1e-5);
  const Moments moved = moments_of(few + 2);
  EXPECT_NEAR(frechet_distance(low, moved), 40 * 4, 1e-4);
  const Moments point = moments_of(torch::ones({5, 40}, torch::kDouble));
  const double expected =
      (low.mean - 1).square().sum().item<double>() + low.covariance.trace().item<double>();
  EXPECT_NEAR(frechet_distance(low, point), expected, 1e-9);
  EXPECT_NEAR(frechet_distance(point, low), expected, 1e-9);
}

TEST(MomentSum, OfPartsIsThatOfTheWhole) {
  torch::manual_seed(5);
  const Tensor features = gaussian(1000, 7) + 1e4;  // far from zero, where sums would cancel
  MomentSum sum;
  for (const Tensor& part : features.split(64)) sum.add(part);
  const Moments moments = sum.moments();
  EXPECT_TRUE(torch::allclose(moments.mean, features.mean(0), 0, 1e-9));
  EXPECT_TRUE(torch::allclose(moments.covariance, torch::cov(features.t()), 0, 1e-9));
  EXPECT_EQ(moments.count, 1000);
}

TEST(MomentSum, RefusesWhatHasNoMoments) {
  EXPECT_THROW(moments_of(gaussian(1, 3)), InvalidArgument);
  EXPECT_THROW(moments_of(torch::full({3, 2}, NAN)), InvalidArgument);
  EXPECT_THROW(moments_of(gaussian(4, 3).flatten()), InvalidArgument);
  EXPECT_THROW(frechet_distance(moments_of(gaussian(9, 2)), moments_of(gaussian(9, 3))),
               InvalidArgument);
}

TEST(Moments, ComeBackFromTheirFile) {
  torch::manual_seed(6);
  const TemporaryFolder folder;
  const Moments moments = moments_of(gaussian(50, 6));
  write_moments(moments, folder.path() / "m.npz");
  const Moments read = read_moments(folder.path() / "m.npz");
  EXPECT_TRUE(read.mean.equal(moments.mean));
  EXPECT_TRUE(read.covariance.equal(moments.covariance));
  EXPECT_EQ(read.count, 50);
}

}  // namespace
}  // namespace obol::evaluate
