// The discrete Fourier transform in double precision, of sizes that are powers of two.
#pragma once

#include <complex>
#include <span>
#include <vector>

namespace obol::privacy {

class Fft {
 public:
  explicit Fft(std::size_t size);

  // values[k] becomes sum_j values[j] e^{-2 pi i j k / size}.
  void forward(std::span<std::complex<double>> values) const;
  // The inverse, with its factor of 1 / size.
  void inverse(std::span<std::complex<double>> values) const;

 private:
  std::size_t size_;
  std::vector<std::complex<double>> roots_;  // e^{-2 pi i k / size}, k < size / 2
};

}  // namespace obol::privacy
