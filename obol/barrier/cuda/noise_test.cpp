#include "obol/barrier/cuda/noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "obol/barrier/cuda/gpu_testing.h"
#include "obol/barrier/cuda/testing.h"
#include "obol/base/error.h"
#include "obol/privacy/noise.h"
#include "obol/privacy/noise_testing.h"

namespace obol::barrier::cuda {
namespace {

using privacy::NoiseGrid;
using testing::Device;
using testing::expected_steps;
using testing::has_gpu;
using testing::key_of_seed;

using Floats = std::vector<float>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

NoiseGrid grid_for(double sensitivity, double multiplier, std::size_t count) {
  return privacy::grid_of(
      privacy::GaussianNoise{.sensitivity = sensitivity, .noise_multiplier = multiplier}, count);
}

std::size_t blocks_for(std::size_t width) { return (width + 7) / 8; }

Floats some_values(std::size_t count, double size) {
  const auto normal = obol::cuda::normals(count, 1);
  Floats values(count);
  std::transform(normal.begin(), normal.end(), values.begin(),
                 [&](double value) { return static_cast<float>(size * value); });
  return values;
}

// A value and its noise, in plain double arithmetic.
float on_grid(float value, double steps, const NoiseGrid& grid) {
  return static_cast<float>((std::nearbyint(static_cast<double>(value) / grid.spacing) + steps) *
                            grid.spacing);
}

Floats expected_sum(const Floats& values, std::uint64_t seed, std::uint64_t launch,
                    const NoiseGrid& grid) {
  const auto noise = expected_steps(key_of_seed(seed), launch, 0, blocks_for(values.size()),
                                    grid.scale / grid.spacing);
  Floats sum(values.size());
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = on_grid(values[i], noise.steps[i], grid);
  return sum;
}

TEST(NoiseGpu, HasTheBitsOfTheProcessor) {
  OBOL_NEEDS_GPU();
  SeededBits source(1);
  DeviceBits bits(source);
  std::uint64_t launch = 0;
  for (const std::size_t count : {1, 7, 8, 9, 1000, 40'000, 999'999}) {
    const NoiseGrid grid = grid_for(0.3, 1.1, count);
    const Floats values = some_values(count, 0.1);
    const Device<float> device(values);
    add_gaussian(bits, device.get(), static_cast<std::int64_t>(count), grid, nullptr);
    EXPECT_EQ(device.host(), expected_sum(values, 1, launch++, grid)) << count;
  }
}

// Some 16 million pairs, of which some 60 are in doubt: all as quadruple precision has them.
TEST(NoiseGpu, SettlesDoubtsAsQuadruplePrecisionDoes) {
  OBOL_NEEDS_GPU();
  constexpr std::size_t kCount = std::size_t{1} << 22;
  SeededBits source(2);
  DeviceBits bits(source);
  const NoiseGrid grid = grid_for(1, 1.9, kCount);
  const Device<float> device{Floats(kCount)};
  int settled = 0;
  for (std::uint64_t launch = 0; launch < 8; ++launch) {
    testing::check(cudaMemset(device.get(), 0, kCount * sizeof(float)), "zeros");
    add_gaussian(bits, device.get(), kCount, grid, nullptr);
    const auto noise =
        expected_steps(key_of_seed(2), launch, 0, kCount / 8, grid.scale / grid.spacing);
    settled += noise.settled;
    const Floats found = device.host();
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < kCount; ++i)
      wrong += found[i] == on_grid(0, noise.steps[i], grid) ? 0 : 1;
    EXPECT_EQ(wrong, 0U) << launch;
  }
  EXPECT_GT(settled, 20);
}

TEST(NoiseGpu, WritesNothingBesideItsValues) {
  OBOL_NEEDS_GPU();
  SeededBits source(3);
  DeviceBits bits(source);
  const NoiseGrid grid = grid_for(1, 1, 100);
  for (const std::int64_t offset : {0, 1, 4, 5}) {
    const Device<float> device(Floats(64, 100.0F));
    add_gaussian(bits, device.get() + offset, 21, grid, nullptr);
    const Floats found = device.host();
    for (std::int64_t i = 0; i < 64; ++i)
      EXPECT_EQ(found[static_cast<std::size_t>(i)] == 100.0F, i < offset || i >= offset + 21) << i;
  }
}

TEST(NoiseGpu, IsNormal) {
  OBOL_NEEDS_GPU();
  constexpr std::size_t kCount = std::size_t{1} << 21;
  const NoiseGrid grid = grid_for(0.37, 1.3, kCount);
  SecureBits secure;
  DeviceBits bits(secure);
  const Device<float> device{Floats(kCount)};
  add_gaussian(bits, device.get(), kCount, grid, nullptr);
  const Floats found = device.host();
  std::vector<double> draws(found.begin(), found.end());
  for (double& draw : draws) draw /= grid.scale;
  EXPECT_EQ(privacy::testing::faults_of(draws, privacy::testing::kNormal),
            std::vector<std::string>{});
}

// Small launches, replayed from a graph: together they are one long row of independent draws.
TEST(NoiseGpu, IsNewInEveryReplayOfAGraph) {
  OBOL_NEEDS_GPU();
  constexpr std::size_t kPart = 1024;
  constexpr int kReplays = 1024;
  const NoiseGrid grid = grid_for(1, 1, kPart);
  SeededBits source(4);
  DeviceBits bits(source);
  const Device<float> part{Floats(kPart)};
  const Device<float> last{Floats(kPart)};
  std::vector<double> draws;
  for (int i = 0; i < kReplays / 2; ++i) {
    testing::replay(2, [&](cudaStream_t stream) {
      testing::check(cudaMemcpyAsync(last.get(), part.get(), kPart * sizeof(float),
                                     cudaMemcpyDeviceToDevice, stream),
                     "a copy");
      testing::check(cudaMemsetAsync(part.get(), 0, kPart * sizeof(float), stream), "zeros");
      add_gaussian(bits, part.get(), kPart, grid, stream);
    });
    for (const Floats& found : {last.host(), part.host()})
      draws.insert(draws.end(), found.begin(), found.end());
  }
  for (double& draw : draws) draw /= grid.scale;
  EXPECT_EQ(privacy::testing::faults_of(draws, privacy::testing::kNormal),
            std::vector<std::string>{});
}

TEST(NoiseGpu, ReplacesWhatItCannotRefuse) {
  OBOL_NEEDS_GPU();
  SeededBits source(5);
  DeviceBits bits(source);
  const NoiseGrid grid = grid_for(1, 1, 5);
  const auto largest = static_cast<float>(grid.largest);
  const Device<float> device(Floats{kNan, kInfinity, -kInfinity, 1e30F, -1e30F});
  add_gaussian(bits, device.get(), 5, grid, nullptr);
  EXPECT_EQ(device.host(), expected_sum({0, 0, 0, largest, -largest}, 5, 0, grid));
}

struct Rows {
  Floats values;
  std::size_t rows;
  std::size_t width;
  std::size_t leading;
};

// Of all sizes from far below to far above any bound; some with a value that is not finite; NaN
// between the rows.
Rows adversarial_rows(std::size_t rows, std::size_t width, std::size_t leading) {
  Rows made{Floats(rows * leading, kNan), rows, width, leading};
  const Floats values = some_values(rows * width, 1);
  for (std::size_t r = 0; r < rows; ++r) {
    const int exponent = static_cast<int>(r * 37 % 270) - 145;
    for (std::size_t i = 0; i < width; ++i)
      made.values[r * leading + i] = std::ldexp(values[r * width + i], exponent);
    const std::size_t where = r * leading + r % width;
    if (r % 7 == 3) made.values[where] = kNan;
    if (r % 7 == 5) made.values[where] = r % 2 == 0 ? kInfinity : -kInfinity;
    if (r % 11 == 1) made.values[where] = std::numeric_limits<float>::max();
  }
  return made;
}

double norm_of_row(const Rows& rows, std::size_t row) {
  double squares = 0;
  for (std::size_t i = 0; i < rows.width; ++i) {
    const auto value = static_cast<double>(rows.values[row * rows.leading + i]);
    squares += value * value;
  }
  return std::sqrt(squares);
}

// The slow way. Norms are summed in another order, so that a factor may be the next float.
Floats clipped(const Rows& rows, double bound) {
  Floats values = rows.values;
  for (std::size_t r = 0; r < rows.rows; ++r) {
    const float factor = clip_factor(norm_of_row(rows, r), bound);
    for (std::size_t i = 0; i < rows.width; ++i) {
      float& value = values[r * rows.leading + i];
      value = std::isfinite(value) ? value * factor : 0;
    }
  }
  return values;
}

DeviceRows on_device(const Device<float>& values, const Rows& rows) {
  return {values.get(), static_cast<std::int64_t>(rows.rows), static_cast<std::int64_t>(rows.width),
          static_cast<std::int64_t>(rows.leading)};
}

void expect_near(float found, float expected, double tolerance) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(found));
    return;
  }
  EXPECT_NEAR(found, expected, tolerance + 3e-7 * std::fabs(expected));
}

TEST(ClipGpu, BoundsTheNormOfEveryRowAndIsTheProcessors) {
  OBOL_NEEDS_GPU();
  for (const auto& [count, width, leading] : {std::array<std::size_t, 3>{300, 784, 800},
                                              {300, 5, 5},
                                              {20, 3001, 3001},
                                              {3, 50'000, 50'003}}) {
    for (const double bound : {1e-6, 0.5, 1e6}) {
      Rows rows = adversarial_rows(count, width, leading);
      const Floats expected = clipped(rows, bound);
      const Device<float> device(rows.values);
      clip_rows(on_device(device, rows), bound, nullptr);
      rows.values = device.host();
      for (std::size_t r = 0; r < count; ++r) ASSERT_LE(norm_of_row(rows, r), bound) << r;
      for (std::size_t i = 0; i < expected.size(); ++i)
        expect_near(rows.values[i], expected[i], 1e-44);
    }
  }
}

// Rows as one launch, and as two; short, long, and with a gap between them.
TEST(ReleaseGpu, IsTheClippedRowsWithTheNoiseOfTheProcessor) {
  OBOL_NEEDS_GPU();
  SeededBits source(6);
  DeviceBits bits(source);
  std::uint64_t launch = 0;
  for (const auto& [count, width, leading] : {std::array<std::size_t, 3>{60, 784, 784},
                                              {60, 783, 801},
                                              {200, 5000, 5000},
                                              {10, 5001, 5004},
                                              {1, 40'000, 40'000},
                                              {1, 1'000'000, 1'000'000},
                                              {1, 3, 3}}) {
    const double bound = 0.5;
    const Rows rows = adversarial_rows(count, width, leading);
    const NoiseGrid grid = grid_for(2 * bound, 0.01, count * width);
    const Device<float> device(rows.values);
    release_rows(bits, on_device(device, rows), bound, grid, nullptr);
    const Floats found = device.host();
    const Floats expected = clipped(rows, bound);
    const std::size_t blocks = blocks_for(width);
    const auto noise =
        expected_steps(key_of_seed(6), launch++, 0, count * blocks, grid.scale / grid.spacing);
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t i = 0; i < width; ++i) {
        const std::size_t at = r * leading + i;
        expect_near(found[at], on_grid(expected[at], noise.steps[r * blocks * 8 + i], grid),
                    1.5 * grid.spacing);
      }
    for (std::size_t r = 0; r < count; ++r)
      for (std::size_t i = width; i < leading; ++i)
        ASSERT_TRUE(std::isnan(found[r * leading + i])) << "wrote between rows";
  }
}

TEST(ReleaseGpu, RefusesWhatCannotBeMeant) {
  OBOL_NEEDS_GPU();
  SeededBits source(7);
  DeviceBits bits(source);
  const NoiseGrid grid = grid_for(1, 1, 8);
  const Device<float> device(Floats(8));
  for (const double bound :
       {0.0, -1.0, static_cast<double>(kNan), static_cast<double>(kInfinity)}) {
    EXPECT_THROW(clip_rows({device.get(), 1, 8, 8}, bound, nullptr), InvalidArgument);
    EXPECT_THROW(release_rows(bits, {device.get(), 1, 8, 8}, bound, grid, nullptr),
                 InvalidArgument);
  }
  EXPECT_THROW(clip_rows({device.get(), 2, 4, 3}, 1, nullptr), InvalidArgument);
  EXPECT_THROW(add_gaussian(bits, device.get(), -1, grid, nullptr), InvalidArgument);
  const NoiseGrid fine = privacy::grid_of(privacy::LaplaceNoise{1, 1}, 8);
  EXPECT_THROW(add_gaussian(bits, device.get(), 8, fine, nullptr), InvalidArgument);
}

}  // namespace
}  // namespace obol::barrier::cuda
