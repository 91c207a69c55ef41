// The least noise, the most steps, the largest sampling rate that a budget allows.
//
//   const Budget budget{Epsilon{10}, Delta{1e-5}};
//   smallest_noise(budget, [](double sigma) {
//     return std::vector<Event>{SampledGaussian{0.1, sigma, 1000}};
//   });                                                            // 1.748959
//
// What is returned was itself accounted for: the upper bound on its epsilon is within the budget.
// The next smaller noise (by 2e-6 relative), step or rate was not.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "obol/base/types.h"
#include "obol/privacy/accountant.h"

namespace obol::privacy {

struct Budget {
  Epsilon epsilon;
  Delta delta;
};

// More noise must not cost more. InvalidArgument where no noise up to 1e9 is enough.
double smallest_noise(const Budget& budget,
                      const std::function<std::vector<Event>(double multiplier)>& events,
                      const Accounting& how = {});

// 0 where not even one step fits; never more than `most`.
std::int64_t most_steps(const Budget& budget,
                        const std::function<std::vector<Event>(std::int64_t steps)>& events,
                        std::int64_t most, const Accounting& how = {});

// InvalidArgument where no rate from 1e-9 fits.
double largest_rate(const Budget& budget,
                    const std::function<std::vector<Event>(double rate)>& events,
                    const Accounting& how = {});

}  // namespace obol::privacy
