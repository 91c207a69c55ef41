// The Fourier transform of masses at arbitrary places, at many equally spaced frequencies at once.
#pragma once

#include <complex>
#include <span>
#include <vector>

namespace obol::privacy {

// sum_i masses[i] e^{i n step places[i]} for n = 0, ..., count - 1, to kNonuniformError times the
// sum of the (positive) masses: every mass is spread over a fine grid by a Gaussian, the grid is
// transformed, the Gaussian divided out (Greengard and Lee 2004).
std::vector<std::complex<double>> nonuniform_transform(std::span<const double> places,
                                                       std::span<const double> masses, double step,
                                                       std::size_t count);

inline constexpr double kNonuniformError = 1e-13;

}  // namespace obol::privacy
