// The slow transform, which settles the doubts of the fast one: series that can be read off, with
// + - * / alone, for a type of more than 100 bits: Quad on processors, DoubleDouble on GPUs.
//
//   ExactPair<DoubleDouble> pair = exact_gaussian_pair<DoubleDouble>(radius, angle);
//   double steps = nearest_step(pair.first, steps_per_unit);
//
// With u the rounding of one sum (2^-113; some 2^-105 for DoubleDouble) the draws are off by less
// than 2^7 u of themselves.
#pragma once

#include <cmath>
#include <cstdint>

#include "obol/base/host_device.h"
#include "obol/privacy/noise_arithmetic.h"

namespace obol::privacy {

template <class Number>
struct ExactPair {
  Number first;
  Number second;
};

namespace exact {

// A constant as the sum of three doubles.
template <class Number>
OBOL_HOST_DEVICE Number sum(double high, double middle, double low) {
  return static_cast<Number>(high) + static_cast<Number>(middle) + static_cast<Number>(low);
}

template <class Number>
OBOL_HOST_DEVICE Number log_two() {
  return sum<Number>(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111);
}

template <class Number>
OBOL_HOST_DEVICE Number two_pi() {
  return sum<Number>(0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52, -0x1.f1976b7ed8fbcp-108);
}

template <class Number>
OBOL_HOST_DEVICE Number number_of(std::uint64_t word) {
  return static_cast<Number>(static_cast<double>(word >> 32) * 0x1p32) +
         static_cast<Number>(static_cast<double>(word & 0xffffffff));
}

// (2^128 high + 2^64 low + third + 1/2) 2^-192, without the zeros that may come before.
template <class Number>
OBOL_HOST_DEVICE Number middle_of(WideWord word) {
  const Number rest =
      (number_of<Number>(word.third) + static_cast<Number>(0.5)) * static_cast<Number>(0x1p-64);
  return number_of<Number>(word.high) * static_cast<Number>(0x1p-64) +
         (number_of<Number>(word.low) + rest) * static_cast<Number>(0x1p-128);
}

OBOL_HOST_DEVICE inline WideWord complement(WideWord word) {
  return {~word.high, ~word.low, ~word.third};
}

// Whether what follows `term` can still change the sum.
template <class Number>
OBOL_HOST_DEVICE bool counts(Number term, Number total) {
  return std::fabs(static_cast<double>(term)) > std::fabs(static_cast<double>(total)) * 0x1p-120;
}

// log x, for x from 0 to 1 of which 1 - x is known to all its digits too. log m = 2 atanh(s),
// s = (m - 1) / (m + 1), for m within a factor sqrt(2) of 1.
template <class Number>
OBOL_HOST_DEVICE Number log_of(Number x, Number below_one) {
  const auto one = static_cast<Number>(1.0);
  const auto two = static_cast<Number>(2.0);
  double exponent = 0;
  while (static_cast<double>(x) < 0.70710678) {
    x = x * two;
    exponent -= 1;
  }
  const Number s = exponent == 0 ? -below_one / (two - below_one) : (x - one) / (x + one);
  const Number square = s * s;
  Number power = s;
  Number half = s;
  for (double n = 3; counts(power, half); n += 2) {
    power = power * square;
    half = half + power / static_cast<Number>(n);
  }
  return two * half + static_cast<Number>(exponent) * log_two<Number>();
}

template <class Number>
OBOL_HOST_DEVICE Number root_of(Number x) {
  auto root = static_cast<Number>(std::sqrt(static_cast<double>(x)));
  // Newton doubles the good digits.
  for (int i = 0; i < 2; ++i) root = (root + x / root) * static_cast<Number>(0.5);
  return root;
}

// first * (1 - t^2 / ((k+1)(k+2)) + ...): the sine from t and k = 1, the cosine from 1 and k = 0.
template <class Number>
OBOL_HOST_DEVICE Number alternating(Number first, Number t, double k) {
  const Number square = -t * t;
  Number term = first;
  Number total = first;
  for (double n = k + 2; counts(term, total); n += 2) {
    term = term * square / static_cast<Number>(n * (n - 1));
    total = total + term;
  }
  return total;
}

}  // namespace exact

template <class Number>
OBOL_HOST_DEVICE ExactPair<Number> exact_gaussian_pair(WideWord radius_word, WideWord angle_word) {
  const Number log =
      exact::log_of(exact::middle_of<Number>(radius_word),
                    exact::middle_of<Number>(exact::complement(radius_word))) -
      static_cast<Number>(static_cast<double>(radius_word.zero_bits)) * exact::log_two<Number>();
  const Number radius = exact::root_of(static_cast<Number>(-2.0) * log);
  // The quarter is taken off the whole numbers, so that the angle left keeps its digits.
  const std::uint64_t quarter = (angle_word.high + (std::uint64_t{1} << 61)) >> 62;
  const WideWord left = {angle_word.high - (quarter << 62), angle_word.low};
  const bool is_back = left.high >> 63 != 0;
  const Number turns =
      is_back ? -exact::middle_of<Number>(exact::complement(left)) : exact::middle_of<Number>(left);
  const Number t = turns * exact::two_pi<Number>();
  const Number cosine = radius * exact::alternating(static_cast<Number>(1.0), t, 0);
  const Number sine = radius * exact::alternating(t, t, 1);
  switch (quarter & 3) {
    case 0:
      return {cosine, sine};
    case 1:
      return {-sine, cosine};
    case 2:
      return {-cosine, -sine};
    default:
      return {sine, -cosine};
  }
}

template <class Number>
OBOL_HOST_DEVICE Number exact_laplace_draw(WideWord word) {
  // The lowest bit of the high word is the sign; the rest, 63 bits and 64, is the exponent's word.
  const auto two = static_cast<Number>(2.0);
  const WideWord magnitude = {word.high >> 1, word.low, word.third};
  const WideWord below_one = {~word.high >> 1, ~word.low, ~word.third};
  const Number log = exact::log_of(exact::middle_of<Number>(magnitude) * two,
                                   exact::middle_of<Number>(below_one) * two);
  return (word.high & 1) != 0 ? log : -log;
}

// The same where the exponent's 63 bits are all zero: its further bits.
template <class Number>
OBOL_HOST_DEVICE Number exact_laplace_tail(WideWord magnitude, bool is_negative) {
  constexpr double kExponentBits = 63;
  const Number log =
      exact::log_of(exact::middle_of<Number>(magnitude),
                    exact::middle_of<Number>(exact::complement(magnitude))) -
      static_cast<Number>(kExponentBits + magnitude.zero_bits) * exact::log_two<Number>();
  return is_negative ? log : -log;
}

// The whole number next to a draw, in steps.
template <class Number>
OBOL_HOST_DEVICE double nearest_step(Number draw, double steps_per_unit) {
  const Number scaled = draw * static_cast<Number>(steps_per_unit);
  // Below 2^39: whole numbers and their halves are exact in a double, and so is the difference.
  const double near = whole(static_cast<double>(scaled));
  const Number off = scaled - static_cast<Number>(near);
  if (static_cast<Number>(0.5) < off) return near + 1;
  if (off < static_cast<Number>(-0.5)) return near - 1;
  return near;
}

}  // namespace obol::privacy
