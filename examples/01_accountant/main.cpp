// examples/01_accountant/main.cpp
// The accountant alone: what releases cost, and how much noise a budget needs.
#include <iostream>
#include <vector>

#include "obol/privacy/calibrate.h"
#include "obol/privacy/pld.h"

int main() {
  using namespace obol;
  using namespace obol::privacy;
  PldAccountant accountant;
  accountant.compose(
      SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 0.8, .count = 2000});
  accountant.compose(Gaussian{.noise_multiplier = 50, .count = 1});  // a histogram, once
  const EpsilonBounds epsilon = accountant.epsilon(Delta{1e-5});
  std::cout << "epsilon " << epsilon.lower << " to " << epsilon.upper << '\n';  // the upper holds

  const double sigma = smallest_noise({Epsilon{10}, Delta{1e-5}}, [](double multiplier) {
    return std::vector<Event>{SampledGaussian{0.1, multiplier, 1000}};
  });
  std::cout << "noise multiplier " << sigma << '\n';
}
