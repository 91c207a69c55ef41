#include "obol/privacy/pld/fft.h"

#include <bit>
#include <numbers>
#include <utility>

#include "obol/base/error.h"
#include "obol/privacy/pld/complex.h"

namespace obol::privacy {
namespace {

// Without the checks for infinities that std::complex makes.
Complex times(Complex a, Complex b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

void reverse_bits(std::span<Complex> values) {
  const std::size_t size = values.size();
  for (std::size_t i = 1, j = 0; i < size; ++i) {
    std::size_t bit = size >> 1;
    for (; (j & bit) != 0; bit >>= 1) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
}

// Decimation in time of `values`, already in bit-reversed order. Halves are finished one after the
// other as long as they do not fit a cache, so that memory is read once per level of that cache.
void butterflies(Complex* values, std::size_t size, const Complex* roots, std::size_t stride) {
  constexpr std::size_t kCached = std::size_t{1} << 14;
  if (size > kCached) {
    butterflies(values, size / 2, roots, stride * 2);
    butterflies(values + size / 2, size / 2, roots, stride * 2);
  }
  for (std::size_t half = size > kCached ? size / 2 : 1; half < size; half *= 2) {
    const std::size_t step = stride * (size / 2 / half);
    for (std::size_t start = 0; start < size; start += 2 * half)
      for (std::size_t k = 0; k < half; ++k) {
        const Complex odd = times(values[start + half + k], roots[k * step]);
        values[start + half + k] = values[start + k] - odd;
        values[start + k] += odd;
      }
  }
}

}  // namespace

Fft::Fft(std::size_t size) : size_(size), roots_(size / 2) {
  if (!std::has_single_bit(size) || size < 2)
    throw InvalidArgument(violation("the size of a transform", "a power of two from 2", size));
  for (std::size_t k = 0; k < size / 2; ++k)
    roots_[k] =
        std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size));
}

void Fft::forward(std::span<Complex> values) const {
  if (values.size() != size_)
    throw InvalidArgument(violation("the transform's input", "as long as its size", values.size()));
  reverse_bits(values);
  butterflies(values.data(), size_, roots_.data(), 1);
}

void Fft::inverse(std::span<Complex> values) const {
  for (Complex& value : values) value = std::conj(value);
  forward(values);
  const double scale = 1 / static_cast<double>(size_);
  for (Complex& value : values) value = std::conj(value) * scale;
}

}  // namespace obol::privacy
