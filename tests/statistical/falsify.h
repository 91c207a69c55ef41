// Looks for evidence that a mechanism is less private than it claims to be.
//
//   const Finding finding = falsify(noisy_sum, data, neighbour, {Epsilon{1}, Delta{1e-5}});
//   EXPECT_FALSE(finding.violated) << finding.story;
//
// (epsilon, delta)-DP bounds every event: P[E] <= exp(epsilon) Q[E] + delta, either way round. Half
// of the runs choose events that look like exceptions: thresholds on coordinates, on the linear
// discriminant, on the norm, on the number of exact zeros, on the last binary digit, on the
// output's size, and equality with the commonest output. The other half count them afresh; a
// violation is reported only where exact confidence bounds (Clopper and Pearson 1934) leave no
// other way. So a right mechanism is accused with probability at most `false_alarm`, whatever the
// events are, and an acquittal proves nothing: falsify_test.cpp says how large a fault is found
// with how many runs.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "obol/base/types.h"

namespace obol::statistical {

using Output = std::vector<double>;

struct Claim {
  Epsilon epsilon;
  Delta delta;
};

struct Effort {
  std::size_t runs =
      20'000;  // of the mechanism, per input, to choose events; as many to count them
  double false_alarm = 1e-6;  // over all events and both directions
};

struct Finding {
  bool violated = false;
  // A lower bound on every epsilon that the mechanism can have at the claim's delta, wrong with
  // probability at most false_alarm; 0 if there is none.
  double epsilon_at_least = 0;
  std::string story;  // the event and its counts, in a sentence
};

// Each function is one run on one of two neighbouring inputs.
Finding falsify(const std::function<Output()>& run, const std::function<Output()>& neighbour_run,
                const Claim& claim, const Effort& effort = {});

template <class Mechanism, class Input>
Finding falsify(Mechanism&& mechanism, const Input& input, const Input& neighbour,
                const Claim& claim, const Effort& effort = {}) {
  return falsify([&] { return Output(mechanism(input)); },
                 [&] { return Output(mechanism(neighbour)); }, claim, effort);
}

// `hits` of `runs` were seen: bounds on the probability of a hit, each of which errs with
// probability at most `error`.
double lower_bound(std::size_t hits, std::size_t runs, double error);
double upper_bound(std::size_t hits, std::size_t runs, double error);

}  // namespace obol::statistical
