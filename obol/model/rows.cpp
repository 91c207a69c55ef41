// Compiled without regard for traps, so that comparisons become masks.
#include "obol/model/rows.h"

// Clang knows no such templates, and a sanitizer is not up yet when the choice is made.
#if defined(__x86_64__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define OBOL_FOR_EACH_PROCESSOR \
  __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define OBOL_FOR_EACH_PROCESSOR
#endif

namespace obol::model {
namespace {

// r'(scale x + shift)
template <class T>
inline T rate(const Rectifier<T>& r, const T* x, std::int64_t c) {
  return x[c] * r.scale[c] + r.shift[c] > 0 ? T{1} : r.slope;
}

}  // namespace

template <class T>
OBOL_FOR_EACH_PROCESSOR void add_deviations(const T* x, std::int64_t rows, std::int64_t channels,
                                            const T* pivot, T* __restrict first,
                                            T* __restrict second) {
  for (std::int64_t row = 0; row < rows; ++row, x += channels)
    for (std::int64_t c = 0; c < channels; ++c) {
      const T deviation = x[c] - pivot[c];
      first[c] += deviation;
      second[c] += deviation * deviation;
    }
}

template <class T>
OBOL_FOR_EACH_PROCESSOR void rectify(const Rectifier<T>& rectifier, const T* x, std::int64_t rows,
                                     T* __restrict y) {
  const Rectifier<T> r = rectifier;
  for (std::int64_t row = 0; row < rows; ++row, x += r.channels, y += r.channels)
    for (std::int64_t c = 0; c < r.channels; ++c)
      y[c] = (x[c] * r.scale[c] + r.shift[c]) * rate(r, x, c);
}

template <class T>
OBOL_FOR_EACH_PROCESSOR void add_gradients(const Rectifier<T>& rectifier, const T* x,
                                           const T* gradient, std::int64_t rows,
                                           T* __restrict first, T* __restrict second) {
  const Rectifier<T> r = rectifier;
  for (std::int64_t row = 0; row < rows; ++row, x += r.channels, gradient += r.channels)
    for (std::int64_t c = 0; c < r.channels; ++c) {
      const T g = gradient[c] * rate(r, x, c);
      first[c] += g;
      second[c] += g * x[c];
    }
}

template <class T>
OBOL_FOR_EACH_PROCESSOR void combine_gradients(const Rectifier<T>& rectifier, const T* x,
                                               const T* gradient, std::int64_t rows, const T* by_x,
                                               const T* by_one, T* __restrict result) {
  const Rectifier<T> r = rectifier;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t c = 0; c < r.channels; ++c)
      result[c] = r.scale[c] * gradient[c] * rate(r, x, c) + (by_x[c] * x[c] + by_one[c]);
    x += r.channels;
    gradient += r.channels;
    result += r.channels;
  }
}

template <class T>
OBOL_FOR_EACH_PROCESSOR void largest_of_four(const T* const* four, std::int64_t channels,
                                             T* __restrict result, std::uint8_t* __restrict which) {
  const T* a = four[0];
  const T* b = four[1];
  const T* c = four[2];
  const T* d = four[3];
  for (std::int64_t k = 0; k < channels; ++k) {
    const T left = a[k] >= b[k] ? a[k] : b[k];
    const T right = c[k] >= d[k] ? c[k] : d[k];
    const T largest = left >= right ? left : right;
    const std::uint8_t place = left >= right ? (a[k] >= b[k] ? 0 : 1) : (c[k] >= d[k] ? 2 : 3);
    result[k] = largest > 0 ? largest : T{0};
    which[k] = largest > 0 ? place : 4;
  }
}

template <class T>
OBOL_FOR_EACH_PROCESSOR void gradient_of_one(const T* gradient, const std::uint8_t* which,
                                             std::uint8_t row, std::int64_t channels,
                                             T* __restrict result) {
  for (std::int64_t k = 0; k < channels; ++k) result[k] = which[k] == row ? gradient[k] : T{0};
}

template <class T>
OBOL_FOR_EACH_PROCESSOR void keep_by_bits(std::int32_t bits, const T* x, std::int64_t count,
                                          T* __restrict result) {
  const auto word = static_cast<std::uint32_t>(bits);
  if (count == 32) {
    for (std::uint32_t k = 0; k < 32; ++k) result[k] = ((word >> k) & 1U) != 0 ? 2 * x[k] : T{0};
    return;
  }
  for (std::int64_t k = 0; k < count; ++k) result[k] = ((word >> k) & 1U) != 0 ? 2 * x[k] : T{0};
}

template void add_deviations(const float*, std::int64_t, std::int64_t, const float*, float*,
                             float*);
template void rectify(const Rectifier<float>&, const float*, std::int64_t, float*);
template void add_gradients(const Rectifier<float>&, const float*, const float*, std::int64_t,
                            float*, float*);
template void combine_gradients(const Rectifier<float>&, const float*, const float*, std::int64_t,
                                const float*, const float*, float*);
template void largest_of_four(const float* const*, std::int64_t, float*, std::uint8_t*);
template void keep_by_bits(std::int32_t, const float*, std::int64_t, float*);
template void gradient_of_one(const float*, const std::uint8_t*, std::uint8_t, std::int64_t,
                              float*);

template void add_deviations(const double*, std::int64_t, std::int64_t, const double*, double*,
                             double*);
template void rectify(const Rectifier<double>&, const double*, std::int64_t, double*);
template void add_gradients(const Rectifier<double>&, const double*, const double*, std::int64_t,
                            double*, double*);
template void combine_gradients(const Rectifier<double>&, const double*, const double*,
                                std::int64_t, const double*, const double*, double*);
template void largest_of_four(const double* const*, std::int64_t, double*, std::uint8_t*);
template void keep_by_bits(std::int32_t, const double*, std::int64_t, double*);
template void gradient_of_one(const double*, const std::uint8_t*, std::uint8_t, std::int64_t,
                              double*);

}  // namespace obol::model
