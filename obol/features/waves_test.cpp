#include "obol/features/waves.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace obol::features {
namespace {

struct Waves {
  std::vector<float> cosines;
  std::vector<float> sines;
};

Waves waves_of(const WaveKernel& kernel, std::vector<float> phases, float scale = 1) {
  std::vector<float> sines(phases.size());
  kernel.waves(phases.data(), sines.data(), phases.size(), scale);
  return {phases, sines};
}

// Near multiples of pi / 4, where quadrants meet, and between them, up to 1e4 and a little beyond.
std::vector<float> many_phases() {
  std::vector<float> phases;
  for (int k = -14'000; k <= 14'000; k += 3)
    for (const double away : {-0.4, -1e-4, 0.0, 1e-5, 0.2})
      phases.push_back(static_cast<float>(k * M_PI / 4 + away));
  return phases;
}

TEST(Waves, AreCosinesAndSines) {
  const std::vector<float> phases = many_phases();
  for (const WaveKernel& kernel : wave_kernels()) {
    const Waves waves = waves_of(kernel, phases);
    double worst = 0;
    for (std::size_t k = 0; k < phases.size(); ++k) {
      const double phase = phases[k];
      worst = std::max(worst, std::abs(waves.cosines[k] - std::cos(phase)));
      worst = std::max(worst, std::abs(waves.sines[k] - std::sin(phase)));
    }
    EXPECT_LT(worst, 1.5e-7) << kernel.name;
  }
}

TEST(Waves, OfAPhaseDoNotDependOnOthers) {
  const std::vector<float> phases = many_phases();
  for (const WaveKernel& kernel : wave_kernels()) {
    const Waves all = waves_of(kernel, phases);
    for (const std::size_t from : {1U, 63U, 1000U}) {
      const Waves some = waves_of(kernel, {phases.begin() + from, phases.begin() + from + 70});
      EXPECT_TRUE(std::equal(some.cosines.begin(), some.cosines.end(), all.cosines.begin() + from));
      EXPECT_TRUE(std::equal(some.sines.begin(), some.sines.end(), all.sines.begin() + from));
    }
  }
}

TEST(Waves, AreBoundedFarOutAndNoNumbersWhereThePhaseIsNone) {
  for (const WaveKernel& kernel : wave_kernels()) {
    const Waves waves =
        waves_of(kernel, {1e9F, -3e38F, std::numeric_limits<float>::infinity(), std::nanf(""), 0});
    EXPECT_FLOAT_EQ(waves.cosines[0], std::cos(1e9F));
    EXPECT_FLOAT_EQ(waves.sines[1], std::sin(-3e38F));
    EXPECT_TRUE(std::isnan(waves.cosines[2]));
    EXPECT_TRUE(std::isnan(waves.sines[3]));
    EXPECT_EQ(waves.cosines[4], 1);
    EXPECT_EQ(waves.sines[4], 0);
  }
}

TEST(Waves, HaveTheirScaleAndTheirGradient) {
  for (const WaveKernel& kernel : wave_kernels()) {
    const Waves waves = waves_of(kernel, {0.3F, -2.F}, 0.5F);
    EXPECT_FLOAT_EQ(waves.cosines[0], 0.5F * std::cos(0.3F));
    EXPECT_FLOAT_EQ(waves.sines[1], 0.5F * std::sin(-2.F));
    const std::vector<float> of_cosines = {2, 3};
    const std::vector<float> of_sines = {5, 7};
    std::vector<float> of_phases(2);
    kernel.gradient(waves.cosines.data(), waves.sines.data(), of_cosines.data(), of_sines.data(), 2,
                    of_phases.data());
    EXPECT_NEAR(of_phases[0], (5 * std::cos(0.3) - 2 * std::sin(0.3)) / 2, 1e-6);
    EXPECT_NEAR(of_phases[1], (7 * std::cos(-2.0) - 3 * std::sin(-2.0)) / 2, 1e-6);
  }
}

}  // namespace
}  // namespace obol::features
