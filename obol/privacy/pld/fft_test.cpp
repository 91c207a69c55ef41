#include "obol/privacy/pld/fft.h"

#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/privacy/pld/complex.h"
#include "obol/privacy/pld/nonuniform.h"

namespace obol::privacy {
namespace {

// Numbers without a pattern, in [0, 1).
double scattered(std::size_t i) {
  const double x = static_cast<double>(i + 1) * std::numbers::phi * 1000;
  return x - std::floor(x);
}

std::vector<Complex> some_values(std::size_t size) {
  std::vector<Complex> values(size);
  for (std::size_t i = 0; i < size; ++i)
    values[i] = {scattered(2 * i) - 0.5, scattered(2 * i + 1) - 0.5};
  return values;
}

TEST(Fft, IsTheSumThatDefinesIt) {
  for (const std::size_t size : {2U, 4U, 64U, 512U}) {
    const std::vector<Complex> values = some_values(size);
    std::vector<Complex> transformed = values;
    Fft(size).forward(transformed);
    for (std::size_t k = 0; k < size; ++k) {
      Complex sum = 0;
      for (std::size_t j = 0; j < size; ++j)
        sum +=
            values[j] * std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(j * k % size) /
                                            static_cast<double>(size));
      EXPECT_LT(std::abs(transformed[k] - sum), 1e-12) << size << ", " << k;
    }
  }
}

TEST(Fft, ComesBackFromSizesBeyondTheCache) {
  const std::size_t size = std::size_t{1} << 16;
  const std::vector<Complex> values = some_values(size);
  std::vector<Complex> there_and_back = values;
  const Fft fft(size);
  fft.forward(there_and_back);
  fft.inverse(there_and_back);
  for (std::size_t i = 0; i < size; ++i) ASSERT_LT(std::abs(there_and_back[i] - values[i]), 1e-14);
}

TEST(Fft, TakesPowersOfTwoOnly) {
  EXPECT_THROW(Fft(0), InvalidArgument);
  EXPECT_THROW(Fft(1), InvalidArgument);
  EXPECT_THROW(Fft(48), InvalidArgument);
  std::vector<Complex> short_input(8);
  EXPECT_THROW(Fft(16).forward(short_input), InvalidArgument);
}

TEST(NonuniformTransform, IsTheSumOverItsPoints) {
  std::vector<double> places;
  std::vector<double> masses;
  double total = 0;
  for (std::size_t i = 0; i < 40; ++i) {
    places.push_back(30 * scattered(i) - 10);
    masses.push_back(scattered(i + 100));
    total += masses.back();
  }
  const double step = 0.173;
  // Twice oversampled in the worst case, which is a power of two; and fewer than its least size.
  for (const std::size_t count : {1U, 7U, 1000U, 1024U, 4096U}) {
    const std::vector<Complex> values = nonuniform_transform(places, masses, step, count);
    ASSERT_EQ(values.size(), count);
    for (std::size_t n = 0; n < count; n += 1 + count / 50) {
      std::complex<long double> sum = 0;
      for (std::size_t i = 0; i < places.size(); ++i)
        sum += std::polar<long double>(
            masses[i], static_cast<long double>(n) * step * static_cast<long double>(places[i]));
      // Frequencies themselves are rounded: a phase of n step 20 radians.
      const double phase = 1e-15 * static_cast<double>(n) * step * 20;
      EXPECT_LT(std::abs(values[n] - Complex(sum)), (kNonuniformError + phase) * total)
          << count << ", " << n;
    }
    const std::size_t last = count - 1;
    std::complex<long double> sum = 0;
    for (std::size_t i = 0; i < places.size(); ++i)
      sum += std::polar<long double>(
          masses[i], static_cast<long double>(last) * step * static_cast<long double>(places[i]));
    EXPECT_LT(std::abs(values[last] - Complex(sum)),
              (kNonuniformError + 1e-15 * static_cast<double>(last) * step * 20) * total)
        << "the highest frequency of " << count;
  }
}

}  // namespace
}  // namespace obol::privacy
