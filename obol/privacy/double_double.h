// A number as the unevaluated sum of two doubles: some 106 bits, where there is no quadruple
// precision (on GPUs), with + - * / alone.
//
//   DoubleDouble third = DoubleDouble(1) / DoubleDouble(3);
//
// With u = 2^-53, a sum is off by less than 3.1 u^2 of itself and a product by less than 5.1 u^2
// (Joldes, Muller and Popescu 2017, algorithms 6 and 12); a quotient of three digits by less than
// 10 u^2. No overflow or underflow is provided for.
#pragma once

#include <cmath>

#include "obol/base/host_device.h"

namespace obol::privacy {

struct DoubleDouble {
  double high;
  double low;

  OBOL_HOST_DEVICE explicit DoubleDouble(double value) : high(value), low(0) {}
  // high + low, of which the second is at most half a unit in the last place of the first.
  OBOL_HOST_DEVICE DoubleDouble(double high, double low) : high(high), low(low) {}
  OBOL_HOST_DEVICE explicit operator double() const { return high; }
};

namespace double_double {

// a + b exactly, for |a| >= |b| or a = 0.
OBOL_HOST_DEVICE inline DoubleDouble ordered_sum(double a, double b) {
  const double sum = a + b;
  return {sum, b - (sum - a)};
}

// a + b exactly.
OBOL_HOST_DEVICE inline DoubleDouble sum(double a, double b) {
  const double sum = a + b;
  const double of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

// a b exactly.
OBOL_HOST_DEVICE inline DoubleDouble product(double a, double b) {
  const double product = a * b;
  return {product, std::fma(a, b, -product)};
}

}  // namespace double_double

OBOL_HOST_DEVICE inline DoubleDouble operator-(DoubleDouble a) { return {-a.high, -a.low}; }

OBOL_HOST_DEVICE inline DoubleDouble operator+(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble highs = double_double::sum(a.high, b.high);
  const DoubleDouble lows = double_double::sum(a.low, b.low);
  const DoubleDouble most = double_double::ordered_sum(highs.high, highs.low + lows.high);
  return double_double::ordered_sum(most.high, most.low + lows.low);
}

OBOL_HOST_DEVICE inline DoubleDouble operator-(DoubleDouble a, DoubleDouble b) { return a + -b; }

OBOL_HOST_DEVICE inline DoubleDouble operator*(DoubleDouble a, DoubleDouble b) {
  const DoubleDouble highs = double_double::product(a.high, b.high);
  const double cross = std::fma(a.low, b.high, std::fma(a.high, b.low, a.low * b.low));
  return double_double::ordered_sum(highs.high, highs.low + cross);
}

// One digit of 53 bits after another, as in long division.
OBOL_HOST_DEVICE inline DoubleDouble operator/(DoubleDouble a, DoubleDouble b) {
  const double first = a.high / b.high;
  const DoubleDouble rest = a - b * DoubleDouble(first);
  const double second = rest.high / b.high;
  const DoubleDouble rest_of_rest = rest - b * DoubleDouble(second);
  const double third = rest_of_rest.high / b.high;
  return double_double::ordered_sum(first, second) + DoubleDouble(third);
}

OBOL_HOST_DEVICE inline bool operator<(DoubleDouble a, DoubleDouble b) {
  return a.high < b.high || (a.high == b.high && a.low < b.low);
}

}  // namespace obol::privacy
