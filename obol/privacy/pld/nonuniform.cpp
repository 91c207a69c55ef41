#include "obol/privacy/pld/nonuniform.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "obol/privacy/pld/fft.h"

namespace obol::privacy {

std::vector<std::complex<double>> nonuniform_transform(std::span<const double> places,
                                                       std::span<const double> masses, double step,
                                                       std::size_t count) {
  // Frequencies -count..count, oversampled twice or more.
  const std::size_t size = std::bit_ceil(std::max<std::size_t>(64, 4 * count));
  const double oversampling = static_cast<double>(size) / (2.0 * static_cast<double>(count));
  constexpr int kReach = 17;  // grid points that a mass is spread over, on either side
  // The Gaussian e^{-g d^2} of the distance d in grid points balances what is cut off at kReach
  // against the images that the division blows up.
  const double g = std::numbers::pi * (oversampling - 0.5) / (oversampling * kReach);
  std::array<double, kReach + 1> squares{};
  for (int d = 0; d <= kReach; ++d) squares.at(static_cast<std::size_t>(d)) = std::exp(-g * d * d);

  std::vector<std::complex<double>> grid(size);
  const double cells = static_cast<double>(size) * step / (2 * std::numbers::pi);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const double place = places[i] * cells;
    const double nearest = std::round(place);
    const double rest = place - nearest;  // e^{-g (d - rest)^2} = e^{-g d^2} e^{-g rest^2} ratio^d
    const double ratio = std::exp(2 * g * rest);
    const double inverse = 1 / ratio;
    const auto index = static_cast<std::size_t>(static_cast<std::int64_t>(nearest));
    double up = masses[i] * std::exp(-g * rest * rest);
    double down = up * inverse;
    for (std::size_t d = 0; d <= kReach; ++d) {
      grid[(index + d) & (size - 1)] += up * squares[d];
      up *= ratio;
    }
    for (std::size_t d = 1; d <= kReach; ++d) {
      grid[(index - d) & (size - 1)] += down * squares[d];
      down *= inverse;
    }
  }
  const Fft fft(size);
  fft.forward(grid);  // with e^{-i ...}; the masses are real, so the conjugate is what is wanted

  std::vector<std::complex<double>> result(count);
  const double scale = std::sqrt(g / std::numbers::pi);
  for (std::size_t n = 0; n < count; ++n) {
    const double frequency =
        2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(size);
    result[n] = std::conj(grid[n]) * (scale * std::exp(frequency * frequency / (4 * g)));
  }
  return result;
}

}  // namespace obol::privacy
