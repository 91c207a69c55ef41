// The Gaussian mechanism alone, exactly: how much noise an (epsilon, delta) needs, and back.
//
//   calibrate_gaussian(Epsilon{1}, Delta{1e-5}, GaussianFormula::kAnalytic)   // 3.7306
//   gaussian_epsilon(5.0 / std::sqrt(100), Delta{1e-5})                       // 100 releases at 5
//
// Guarantee: adding N(0, (noise_multiplier * sensitivity)^2) to a value of that l2 sensitivity is
// (epsilon, gaussian_delta(noise_multiplier, epsilon))-DP, and no smaller delta holds (Balle and
// Wang 2018, theorem 8). n adaptive releases with multipliers s_i are as private as one with
// 1 / sqrt(sum 1 / s_i^2).
#pragma once

#include "obol/base/types.h"

namespace obol::privacy {

// The smallest delta that holds, rounded up.
double gaussian_delta(double noise_multiplier, Epsilon epsilon);

// The smallest epsilon that holds, rounded up. Delta must be positive.
Epsilon gaussian_epsilon(double noise_multiplier, Delta delta);
// The same, rounded down: no smaller epsilon than this one holds.
Epsilon gaussian_epsilon_lower(double noise_multiplier, Delta delta);

enum class GaussianFormula {
  kAnalytic,  // exact (Balle and Wang 2018)
  kZhao,      // closed form, sufficient for delta < 0.5 (Zhao et al. 2019)
  kClassic,   // sqrt(2 log(1.25/delta))/epsilon, sufficient for epsilon < 1 (Dwork and Roth 2014)
};

// The epsilon that Zhao et al.'s formula claims for a multiplier; gaussian_epsilon is never more.
Epsilon zhao_epsilon(double noise_multiplier, Delta delta);

// The noise multiplier that the formula asks for, rounded up. Throws InvalidArgument outside the
// range in which the formula was proved.
double calibrate_gaussian(Epsilon epsilon, Delta delta, GaussianFormula formula);

}  // namespace obol::privacy
