// The characteristic function of a tilted law at many equally spaced frequencies, precise enough to
// be raised to a power of 10^8.
//
// What a count multiplies is the distance of the function from one, and that must be right relative
// to itself. Nearly all of the mass has tiny losses, rare points have large ones. The tiny ones, of
// which e^{i t loss} - 1 - i t loss is a slow function of t, are summed without cancellation at a
// few frequencies and interpolated; only the others go through the transform of nonuniform.h, whose
// error is relative to their mass.
#pragma once

#include <complex>
#include <vector>

#include "obol/privacy/pld/law.h"

namespace obol::privacy {

inline constexpr double kRounding = 4e-15;  // of a sum of positive terms, relative

class Characteristic {
 public:
  // At t = 0, step, ..., (count - 1) step.
  Characteristic(const TiltedLaw& law, double step, std::size_t count);

  // log E[e^{i t loss}] at t = n step, and a bound on its error.
  [[nodiscard]] std::complex<double> log_at(std::size_t n) const;
  [[nodiscard]] double error_at(std::size_t n) const;

 private:
  void add_small(const TiltedLaw& small);
  void add_large(const TiltedLaw& large);

  double step_;
  double mean_size_ = 0;     // E|loss|
  double small_square_ = 0;  // sum of the masses times their squared losses, of the tiny ones
  double large_mass_ = 0;
  std::vector<std::complex<double>> excess_;  // E[e^{i t loss}] - 1
};

}  // namespace obol::privacy
