// The tight accountant over the whole range that it promises: rates from 1e-6 to nearly 1, noise
// multipliers from 0.05 to 1000, 1 to 10^8 releases, delta down to 1e-12. Every OBOL_SWEEP-th case
// (default 5) of 3,960 is tried.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "obol/base/text.h"
#include "obol/privacy/pld.h"
#include "obol/privacy/rdp.h"

namespace obol::privacy {
namespace {

constexpr std::array kRates = {1e-6, 1e-5, 1e-4, 1 / 1200.0, 0.01, 0.1, 0.5, 0.9, 0.999999};
constexpr std::array kNoises = {0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 5.0, 30.0, 1000.0};
constexpr std::array<std::int64_t, 10> kCounts = {1,    2,      5,       30,      300,
                                                  3000, 100000, 1000000, 8000000, 100000000};
constexpr std::array kDeltas = {1e-12, 1e-8, 1e-5, 0.01};

int stride() {
  const char* text = std::getenv("OBOL_SWEEP");
  constexpr std::int64_t kDefault = 5;
  const std::int64_t asked = text == nullptr ? kDefault : parse_integer(text).value_or(kDefault);
  return static_cast<int>(std::max<std::int64_t>(1, asked));
}

// A drawn record gives itself away at such little noise, so that delta(epsilon) is flat at the
// sampling rate: a delta that equals it does not fix epsilon.
bool is_tie(const SampledGaussian& event, double delta) {
  return event.count == 1 && event.noise_multiplier < 0.1 && delta == event.sampling_rate;
}

TEST(PldAccountant, IsWithinItsToleranceOverItsWholeRange) {
  int index = 0;
  int tried = 0;
  for (const double rate : kRates) {
    for (const double noise : kNoises) {
      for (const std::int64_t count : kCounts) {
        for (const double delta : kDeltas) {
          if (index++ % stride() != 0) continue;
          const SampledGaussian event{rate, noise, count};
          if (is_tie(event, delta)) continue;
          PldAccountant tight;
          tight.compose(event);
          const EpsilonBounds bounds = tight.epsilon(Delta{delta});
          const std::string where = fmt::format("{} at delta {}: [{}, {}]", describe(event), delta,
                                                bounds.lower, bounds.upper);
          EXPECT_GE(bounds.lower, 0) << where;
          EXPECT_LE(bounds.lower, bounds.upper) << where;
          const double tolerance = std::max(1e-3, 5e-4 * bounds.upper);
          EXPECT_LE(bounds.upper - bounds.lower, tolerance) << where;
          RdpAccountant renyi;
          renyi.compose(event);
          EXPECT_LE(bounds.lower, renyi.epsilon(Delta{delta}).epsilon) << where;
          ++tried;
        }
      }
    }
  }
  EXPECT_GT(tried, 3900 / stride());
}

}  // namespace
}  // namespace obol::privacy
