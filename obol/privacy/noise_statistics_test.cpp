// The distribution of the noise. False-alarm rates are in testing.h: each call of faults_of on
// right draws finds something with probability below 1e-9. Seeded draws are the same every time.
#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "obol/privacy/noise.h"
#include "obol/privacy/noise_testing.h"

namespace obol::privacy {
namespace {

using testing::faults_of;
using testing::kLaplace;
using testing::kNormal;

using Faults = std::vector<std::string>;

constexpr std::size_t kCount = std::size_t{1} << 21;

std::vector<double> gaussians(RandomBits& bits, std::size_t count = kCount) {
  std::vector<double> draws(count);
  fill_gaussian(bits, draws);
  return draws;
}

std::vector<double> seeded_gaussians() {
  SeededBits bits(11);
  return gaussians(bits);
}

bool names(const Faults& faults, std::string_view check) {
  return std::any_of(faults.begin(), faults.end(),
                     [&](const std::string& fault) { return fault.starts_with(check); });
}

// Noise as a mechanism adds it, over its scale.
std::vector<double> added_gaussians(RandomBits& bits) {
  const GaussianNoise noise = {.sensitivity = 0.37, .noise_multiplier = 1.3};
  std::vector<double> values(kCount);
  add_gaussian(bits, values, noise);
  const double scale = grid_of(noise, kCount).scale;
  for (double& value : values) value /= scale;
  return values;
}

std::vector<double> added_laplaces(RandomBits& bits) {
  const LaplaceNoise noise = {.sensitivity = 5, .scale = 0.7};
  std::vector<double> values(kCount);
  add_laplace(bits, values, noise);
  const double scale = grid_of(noise, kCount).scale;
  for (double& value : values) value /= scale;
  return values;
}

TEST(GaussianDraws, AreNormalFromSeededBits) {
  EXPECT_EQ(faults_of(seeded_gaussians(), kNormal), Faults{});
}

TEST(GaussianDraws, AreNormalFromSecureBits) {
  SecureBits bits;
  EXPECT_EQ(faults_of(gaussians(bits), kNormal), Faults{});
}

TEST(GaussianDraws, AreNormalWhenAdded) {
  SeededBits seeded(12);
  EXPECT_EQ(faults_of(added_gaussians(seeded), kNormal), Faults{});
  SecureBits secure;
  EXPECT_EQ(faults_of(added_gaussians(secure), kNormal), Faults{});
}

TEST(GaussianDraws, AreIndependentAcrossCallsOfAnySize) {
  SeededBits bits(13);
  std::vector<double> draws;
  for (std::size_t size = 1; draws.size() < kCount; size = size % 1500 + 1) {
    const auto more = gaussians(bits, std::min(size, kCount - draws.size()));
    draws.insert(draws.end(), more.begin(), more.end());
  }
  EXPECT_EQ(faults_of(draws, kNormal), Faults{});
}

TEST(LaplaceDraws, AreLaplaceFromSeededBits) {
  SeededBits bits(14);
  std::vector<double> draws(kCount);
  fill_laplace(bits, draws);
  EXPECT_EQ(faults_of(draws, kLaplace), Faults{});
}

TEST(LaplaceDraws, AreLaplaceFromSecureBits) {
  SecureBits bits;
  std::vector<double> draws(kCount);
  fill_laplace(bits, draws);
  EXPECT_EQ(faults_of(draws, kLaplace), Faults{});
}

TEST(LaplaceDraws, AreLaplaceWhenAdded) {
  SeededBits seeded(15);
  EXPECT_EQ(faults_of(added_laplaces(seeded), kLaplace), Faults{});
  SecureBits secure;
  EXPECT_EQ(faults_of(added_laplaces(secure), kLaplace), Faults{});
}

// What the battery sees. Without these, it might see nothing.

TEST(Battery, SeesAVarianceThatIsOffByOnePercent) {
  for (const double variance : {0.99, 1.01}) {
    auto draws = seeded_gaussians();
    for (double& draw : draws) draw *= std::sqrt(variance);
    EXPECT_TRUE(names(faults_of(draws, kNormal), "variance")) << variance;
  }
}

TEST(Battery, SeesAMeanThatIsOffByAHundredth) {
  auto draws = seeded_gaussians();
  for (double& draw : draws) draw += 0.01;
  EXPECT_TRUE(names(faults_of(draws, kNormal), "mean"));
}

TEST(Battery, SeesATailThatIsCutAtFourDeviations) {
  auto draws = seeded_gaussians();
  std::erase_if(draws, [](double draw) { return std::abs(draw) > 4; });
  draws.resize(draws.size() / 4 * 4);
  EXPECT_TRUE(names(faults_of(draws, kNormal), "above 4 deviations"));
}

TEST(Battery, SeesABlockThatComesTwice) {
  auto draws = seeded_gaussians();
  std::copy_n(draws.begin() + 4096, 8, draws.begin() + 1'000'000);
  EXPECT_TRUE(names(faults_of(draws, kNormal), "repetitions"));
}

TEST(Battery, SeesEverySecondBlockRepeatingTheOneBefore) {
  auto draws = seeded_gaussians();
  for (std::size_t i = 0; i < draws.size(); ++i)
    if (i / 1024 % 2 == 1) draws[i] = draws[i - 1024];
  EXPECT_TRUE(names(faults_of(draws, kNormal), "correlation at lag 1024"));
}

TEST(Battery, SeesPairsThatShareTheirMagnitude) {
  auto draws = seeded_gaussians();
  for (std::size_t i = 0; i < draws.size(); i += 2)
    draws[i + 1] = std::copysign(draws[i], draws[i + 1]);
  const auto faults = faults_of(draws, kNormal);
  EXPECT_TRUE(names(faults, "pairs"));
  EXPECT_TRUE(names(faults, "correlation of squares at lag 1:"));
}

TEST(Battery, SeesALopsidedLaw) {
  auto draws = seeded_gaussians();
  for (std::size_t i = 0; i < draws.size(); i += 50) draws[i] = std::abs(draws[i]);
  EXPECT_TRUE(names(faults_of(draws, kNormal), "distribution function"));
}

TEST(Battery, TellsLaplaceFromNormalOfTheSameVariance) {
  SeededBits bits(16);
  std::vector<double> draws(kCount);
  fill_laplace(bits, draws);
  for (double& draw : draws) draw /= std::sqrt(2.0);
  EXPECT_TRUE(names(faults_of(draws, kNormal), "bins"));
}

}  // namespace
}  // namespace obol::privacy
