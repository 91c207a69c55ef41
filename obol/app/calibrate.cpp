#include "obol/app/calibrate.h"

#include <chrono>
#include <vector>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::app {
namespace {

// The sampling rate of "none" is 1.
CalibrateRequest checked(CalibrateRequest request) {
  if (request.sampling == "none") {
    if (request.sampling_rate)
      throw InvalidArgument("--sampling-rate must not be given with --sampling none");
    request.sampling_rate = 1;
  }
  const int open = (request.sampling_rate ? 0 : 1) + (request.noise_multiplier ? 0 : 1) +
                   (request.steps ? 0 : 1);
  if (open != 1)
    throw InvalidArgument(
        fmt::format("all but one of --sampling-rate, --noise-multiplier and --steps must be given, "
                    "and that one is "
                    "found, but {} are missing",
                    open));
  return request;
}

void solve(CalibrateRequest& request) {
  const privacy::Budget& budget = request.budget;
  const auto events = [&](double rate, double multiplier, std::int64_t steps) {
    const privacy::Event event = gaussian_event(request.sampling, rate, multiplier, steps);
    privacy::check(event);
    return std::vector<privacy::Event>{event};
  };
  if (!request.noise_multiplier) {
    request.noise_multiplier = privacy::smallest_noise(
        budget, [&](double noise) { return events(*request.sampling_rate, noise, *request.steps); },
        request.how);
  } else if (!request.steps) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    request.steps = privacy::most_steps(
        budget,
        [&](std::int64_t steps) {
          return events(*request.sampling_rate, *request.noise_multiplier, steps);
        },
        kMost, request.how);
    if (*request.steps == 0)
      throw BudgetExceeded(
          fmt::format("epsilon must be enough for one step, but {} is not at these parameters",
                      budget.epsilon.value()));
  } else {
    request.sampling_rate = privacy::largest_rate(
        budget,
        [&](double rate) { return events(rate, *request.noise_multiplier, *request.steps); },
        request.how);
  }
}

}  // namespace

privacy::Event gaussian_event(const std::string& sampling, double rate, double multiplier,
                              std::int64_t steps) {
  if (sampling == "none") return privacy::Gaussian{multiplier, steps};
  if (sampling == "without-replacement")
    return privacy::FixedBatchGaussian{rate, multiplier, steps};
  if (sampling == "shard") return privacy::ShardGaussian{rate, multiplier, steps};
  return privacy::SampledGaussian{rate, multiplier, steps};
}

Calibrated calibrate(const CalibrateRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  CalibrateRequest solved = checked(request);
  solve(solved);
  Calibrated found{.sampling_rate = *solved.sampling_rate,
                   .noise_multiplier = *solved.noise_multiplier,
                   .steps = *solved.steps,
                   .cost = {}};
  const privacy::Event event =
      gaussian_event(request.sampling, found.sampling_rate, found.noise_multiplier, found.steps);
  found.cost = privacy::account({event}, request.budget.delta, request.how);
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return found;
}

}  // namespace obol::app
