// Images on a processor as rows of channels, [pixels, channels], and the loops over them. Each is
// compiled for several instruction sets; the processor that runs it decides.
#pragma once

#include <cstdint>

namespace obol::model {

// first += x - pivot and second += (x - pivot)^2 over all rows, per channel.
template <class T>
void add_deviations(const T* x, std::int64_t rows, std::int64_t channels, const T* pivot,
                    T* __restrict first, T* __restrict second);

// y = r(scale x + shift), with r(v) = v above zero and slope v below.
template <class T>
struct Rectifier {
  const T* scale;  // [channels]
  const T* shift;
  T slope;
  std::int64_t channels;
};

template <class T>
void rectify(const Rectifier<T>& rectifier, const T* x, std::int64_t rows, T* __restrict y);

// With g the gradient in front of r: first += g and second += g x, per channel.
template <class T>
void add_gradients(const Rectifier<T>& rectifier, const T* x, const T* gradient, std::int64_t rows,
                   T* __restrict first, T* __restrict second);

// result = scale g + by_x x + by_one
template <class T>
void combine_gradients(const Rectifier<T>& rectifier, const T* x, const T* gradient,
                       std::int64_t rows, const T* by_x, const T* by_one, T* __restrict result);

// result = the largest of the four rows and 0, which = the row it stands in, or 4.
template <class T>
void largest_of_four(const T* const* four, std::int64_t channels, T* __restrict result,
                     std::uint8_t* __restrict which);

// result = gradient where `which` is `row`, else 0.
template <class T>
void gradient_of_one(const T* gradient, const std::uint8_t* which, std::uint8_t row,
                     std::int64_t channels, T* __restrict result);

// result = 2 x where the number's bit is set, else 0; at most 32 of them.
template <class T>
void keep_by_bits(std::int32_t bits, const T* x, std::int64_t count, T* __restrict result);

}  // namespace obol::model
