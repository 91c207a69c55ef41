#include "obol/features/scattering_filters.h"

#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>

namespace obol::features {
namespace {

constexpr double kSlant = 4.0 / kAngles;
constexpr double kSpread = 0.8;
constexpr double kFrequency = 0.75 * std::numbers::pi;

struct Morlet {
  double spread;
  double frequency;
  std::size_t taps;
};

double from_centre(std::size_t tap, std::size_t taps) {
  return static_cast<double>(tap) - static_cast<double>(taps - 1) / 2;
}

// Appends the taps of one angle.
void append_morlet(const Morlet& morlet, double angle, Wavelets& to) {
  const std::size_t count = morlet.taps * morlet.taps;
  std::vector<double> envelope(count);
  std::vector<std::complex<double>> wave(count);
  for (std::size_t row = 0; row < morlet.taps; ++row) {
    for (std::size_t column = 0; column < morlet.taps; ++column) {
      const double y = from_centre(row, morlet.taps);
      const double x = from_centre(column, morlet.taps);
      const double u = std::cos(angle) * x + std::sin(angle) * y;
      const double v = std::cos(angle) * y - std::sin(angle) * x;
      const std::size_t tap = row * morlet.taps + column;
      envelope[tap] =
          std::exp(-(u * u + kSlant * kSlant * v * v) / (2 * morlet.spread * morlet.spread));
      wave[tap] = envelope[tap] * std::polar(1.0, morlet.frequency * u);
    }
  }
  const std::complex<double> answer = std::reduce(wave.begin(), wave.end());
  const std::complex<double> share = answer / std::reduce(envelope.begin(), envelope.end());
  const double norm = kSlant / (2 * std::numbers::pi * morlet.spread * morlet.spread);
  for (std::size_t tap = 0; tap < count; ++tap) {
    const std::complex<double> value = (wave[tap] - share * envelope[tap]) * norm;
    to.real.push_back(value.real());
    to.imaginary.push_back(value.imag());
  }
}

Wavelets morlets(const Morlet& morlet) {
  Wavelets wavelets{.taps = morlet.taps, .real = {}, .imaginary = {}};
  for (std::size_t k = 0; k < kAngles; ++k)
    append_morlet(morlet, static_cast<double>(k) * std::numbers::pi / kAngles, wavelets);
  return wavelets;
}

std::vector<double> gaussian(double spread, std::size_t taps) {
  std::vector<double> values(taps);
  for (std::size_t tap = 0; tap < taps; ++tap) {
    const double x = from_centre(tap, taps);
    values[tap] = std::exp(-x * x / (2 * spread * spread));
  }
  const double sum = std::reduce(values.begin(), values.end());
  for (double& value : values) value /= sum;
  return values;
}

// One part of the wavelets at one place of the quadrant.
struct Quadrant {
  const std::vector<double>& part;
  std::size_t taps;
  std::size_t down;
  std::size_t right;

  // Half the sum and half the difference of a tap and its mirror image.
  [[nodiscard]] double sum(std::size_t angle) const {
    return (at(angle, right) + mirrored(angle)) / 2;
  }
  [[nodiscard]] double difference(std::size_t angle) const {
    return (at(angle, right) - mirrored(angle)) / 2;
  }

 private:
  [[nodiscard]] double at(std::size_t angle, std::size_t column) const {
    return part[(angle * taps + down) * taps + column];
  }
  [[nodiscard]] double mirrored(std::size_t angle) const { return at(angle, taps - 1 - right); }
};

}  // namespace

ScatteringFilters scattering_filters() {
  return {.fine = morlets({.spread = kSpread, .frequency = kFrequency, .taps = 9}),
          .coarse = morlets({.spread = 2 * kSpread, .frequency = kFrequency / 2, .taps = 18}),
          .low = gaussian(2 * kSpread, 12),
          .low_halved = gaussian(kSpread, 8)};
}

FoldedWavelets folded(const Wavelets& wavelets) {
  const std::size_t taps = wavelets.taps;
  FoldedWavelets result{.taps = taps, .half = (taps + 1) / 2, .weights = {}};
  for (std::size_t y = 0; y < result.half; ++y) {
    for (std::size_t x = 0; x < result.half; ++x) {
      const std::size_t first = taps - result.half;
      const Quadrant re{wavelets.real, taps, first + y, first + x};
      const Quadrant im{wavelets.imaginary, taps, first + y, first + x};
      // With an odd number of taps, pixels on an axis are met twice, the centre four times.
      const double share = taps % 2 == 0 ? 1 : (y == 0 ? 0.5 : 1) * (x == 0 ? 0.5 : 1);
      const double weights[] = {
          re.sum(0),        re.sum(4),        re.sum(1),        re.sum(2),
          re.sum(3),        re.difference(1), re.difference(2), re.difference(3),
          im.sum(4),        im.sum(1),        im.sum(2),        im.sum(3),
          im.difference(0), im.difference(1), im.difference(2), im.difference(3)};
      for (const double weight : weights)
        result.weights.push_back(static_cast<float>(weight * share));
    }
  }
  return result;
}

}  // namespace obol::features
