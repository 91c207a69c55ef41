#include "obol/features/scattering_block.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace obol::features {
namespace {

// Not symmetric in any way, and other in each record.
std::vector<float> some_numbers(std::size_t count) {
  std::vector<float> numbers(count);
  for (std::size_t k = 0; k < count; ++k)
    numbers[k] = static_cast<float>(std::sin(0.7 * static_cast<double>(k * k % 1009)));
  return numbers;
}

struct Both {
  std::vector<float> features;
  std::vector<float> gradient;
};

Both both_of(const BlockKernel& kernel, const BlockShape& shape, std::size_t count) {
  const BlockScattering scattering(shape, kernel);
  Scratch scratch = scattering.scratch();
  const std::size_t pixels = shape.height * shape.width;
  const std::size_t dimension = shape.channels() * shape.pixels();
  const std::vector<float> images = some_numbers(count * pixels);
  const std::vector<float> direction = some_numbers(count * dimension);
  Both both{std::vector<float>(count * dimension), std::vector<float>(count * pixels)};
  scattering.forward({images.data(), pixels, count}, both.features.data(), dimension, scratch);
  scattering.gradient({images.data(), pixels, count}, direction.data(), dimension,
                      both.gradient.data(), scratch);
  return both;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    largest = std::max(largest, std::abs(static_cast<double>(a[k]) - b[k]));
  return largest;
}

TEST(BlockScattering, IsTheSameInEveryInstructionSet) {
  const std::vector<BlockKernel>& kernels = block_kernels();
  ASSERT_EQ(kernels.back().name, "portable");
  for (const int order : {1, 2})
    for (const std::size_t count : {1, 5, 16}) {
      const BlockShape shape{.height = 13, .width = 18, .order = order};
      const Both expected = both_of(kernels.back(), shape, count);
      for (const BlockKernel& kernel : kernels) {
        const Both both = both_of(kernel, shape, count);
        EXPECT_LT(largest_difference(both.features, expected.features), 2e-6) << kernel.name;
        EXPECT_LT(largest_difference(both.gradient, expected.gradient), 2e-5) << kernel.name;
      }
    }
}

TEST(ScatteringFilters, HaveTheSymmetriesThatTheKernelUses) {
  const ScatteringFilters filters = scattering_filters();
  for (const Wavelets* wavelets : {&filters.fine, &filters.coarse}) {
    const std::size_t taps = wavelets->taps;
    const auto at = [&](const std::vector<double>& part, std::size_t angle, std::size_t row,
                        std::size_t column) { return part[(angle * taps + row) * taps + column]; };
    for (std::size_t k = 0; k < kAngles; ++k)
      for (std::size_t row = 0; row < taps; ++row)
        for (std::size_t column = 0; column < taps; ++column) {
          const std::size_t up = taps - 1 - row;
          const std::size_t left = taps - 1 - column;
          const double real = at(wavelets->real, k, row, column);
          const double imaginary = at(wavelets->imaginary, k, row, column);
          EXPECT_NEAR(real, at(wavelets->real, k, up, left), 1e-15);
          EXPECT_NEAR(imaginary, -at(wavelets->imaginary, k, up, left), 1e-15);
          if (k == 0) continue;
          EXPECT_NEAR(real, at(wavelets->real, kAngles - k, row, left), 1e-15);
          EXPECT_NEAR(imaginary, at(wavelets->imaginary, kAngles - k, row, left), 1e-15);
        }
  }
}

TEST(ScatteringFilters, SumToZeroOrOne) {
  const ScatteringFilters filters = scattering_filters();
  for (const Wavelets* wavelets : {&filters.fine, &filters.coarse})
    for (const std::vector<double>* part : {&wavelets->real, &wavelets->imaginary}) {
      const auto count = static_cast<std::ptrdiff_t>(wavelets->taps * wavelets->taps);
      for (auto first = part->begin(); first != part->end(); first += count)
        EXPECT_NEAR(std::accumulate(first, first + count, 0.0), 0, 1e-14);
    }
  for (const std::vector<double>* low : {&filters.low, &filters.low_halved})
    EXPECT_NEAR(std::accumulate(low->begin(), low->end(), 0.0), 1, 1e-15);
}

}  // namespace
}  // namespace obol::features
