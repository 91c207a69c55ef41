// What a budget allows: the least noise, the most steps or the largest sampling rate.
//
//   Calibrated found = calibrate({.budget = {Epsilon{1}, Delta{1e-5}}, .sampling_rate = 0.01,
//                                 .steps = 1000});
//   found.noise_multiplier
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "obol/privacy/accountant.h"
#include "obol/privacy/calibrate.h"
#include "obol/privacy/event.h"

namespace obol::app {

// Gaussian noise on samples that are drawn by "poisson" (or ""), "without-replacement", of one
// "shard", or "none".
privacy::Event gaussian_event(const std::string& sampling, double rate, double multiplier,
                              std::int64_t steps);

// All of the three but one are given, and that one is found.
struct CalibrateRequest {
  privacy::Budget budget;
  std::string sampling = {};
  std::optional<double> sampling_rate = std::nullopt;  // not with "none"
  std::optional<double> noise_multiplier = std::nullopt;
  std::optional<std::int64_t> steps = std::nullopt;
  privacy::Accounting how = {};
};

struct Calibrated {
  double sampling_rate = 1;
  double noise_multiplier = 0;
  std::int64_t steps = 0;
  privacy::Guarantee cost;
  double seconds = 0;
};

// BudgetExceeded where the budget is not enough for one step.
Calibrated calibrate(const CalibrateRequest& request);

}  // namespace obol::app
