// Complex numbers as the characteristic functions of privacy losses need them.
#pragma once

#include <cmath>
#include <complex>

namespace obol::privacy {

using Complex = std::complex<double>;

inline Complex log1p(Complex z) {
  if (std::norm(z) > 0.25) return std::log(1.0 + z);  // the other may be the log of less than 0
  return {std::log1p(2 * z.real() + std::norm(z)) / 2, std::atan2(z.imag(), 1 + z.real())};
}

}  // namespace obol::privacy
