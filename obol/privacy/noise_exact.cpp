// The slow transform: series that can be read off, in 113 bits, with + - * / alone.
#include <bit>
#include <cmath>
#include <cstdint>

#include "obol/privacy/noise_transform.h"

namespace obol::privacy {
namespace {

// A constant as the sum of three doubles.
Quad sum(double high, double middle, double low) {
  return static_cast<Quad>(high) + static_cast<Quad>(middle) + static_cast<Quad>(low);
}

Quad log_two() { return sum(0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56, 0x1.7b57a079a1934p-111); }

Quad two_pi() { return sum(0x1.921fb54442d18p+2, 0x1.1a62633145c07p-52, -0x1.f1976b7ed8fbcp-108); }

// (2^64 high + low + 1/2) 2^-128
Quad middle_of(WideWord word) {
  constexpr double kTwo64 = 0x1p64;
  return (static_cast<Quad>(word.high) * kTwo64 + static_cast<Quad>(word.low) + Quad{0.5}) /
         (static_cast<Quad>(kTwo64) * kTwo64);
}

Quad sign_free(Quad x) { return x < 0 ? -x : x; }

// Adds terms until they no longer change the sum.
template <class NextTerm>
Quad series(Quad first, NextTerm next) {
  Quad total = first;
  Quad before = first + 1;
  for (int i = 1; total != before && i < 200; ++i) {
    before = total;
    total += next(i);
  }
  return total;
}

// log m = 2 atanh((m - 1) / (m + 1)), for m within a factor sqrt(2) of 1.
Quad log_of(Quad x) {
  int exponent = 0;
  while (x < Quad{0.70710678}) {
    x *= 2;
    --exponent;
  }
  const Quad s = (x - 1) / (x + 1);
  const Quad square = s * s;
  Quad power = s;
  const Quad half = series(s, [&](int i) {
    power *= square;
    return power / (2 * i + 1);
  });
  return 2 * half + exponent * log_two();
}

Quad root_of(Quad x) {
  if (x <= 0) return 0;
  Quad root = std::sqrt(static_cast<double>(x));
  for (int i = 0; i < 3; ++i) root = (root + x / root) / 2;  // Newton doubles the good digits
  return root;
}

// first * (1 - t^2 / ((k+1)(k+2)) + ...): the sine from t and k = 1, the cosine from 1 and k = 0.
Quad alternating(Quad first, Quad t, int k) {
  Quad term = first;
  return series(first, [&](int i) {
    const int n = k + 2 * i;
    term *= -t * t / (n * (n - 1));
    return term;
  });
}

}  // namespace

std::array<Quad, 2> exact_gaussian(WideWord radius_word, WideWord angle_word) {
  const Quad radius = root_of(-2 * log_of(middle_of(radius_word)));
  // The quarter is taken off the whole numbers, so that the angle left keeps its digits.
  const std::uint64_t quarter = (angle_word.high + (std::uint64_t{1} << 61)) >> 62;
  const auto left = static_cast<std::int64_t>(angle_word.high - (quarter << 62));
  const Quad turns =
      (static_cast<Quad>(left) + (static_cast<Quad>(angle_word.low) + Quad{0.5}) / 0x1p64) / 0x1p64;
  const Quad t = turns * two_pi();
  const Quad cosine = radius * alternating(1, t, 0);
  const Quad sine = radius * alternating(t, t, 1);
  switch (quarter) {
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

Quad exact_laplace(WideWord word) {
  // The lowest bit of the high word is the sign; the rest, 63 bits and 64, is the exponent's word.
  const WideWord magnitude = {word.high >> 1, word.low};
  const Quad exponential = sign_free(log_of(middle_of(magnitude) * 2));
  return (word.high & 1) != 0 ? -exponential : exponential;
}

}  // namespace obol::privacy
