// obol calibrate [gaussian]: what a budget allows
#include "obol/privacy/calibrate.h"

#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/numbers.h"
#include "obol/base/text.h"
#include "obol/privacy/gaussian.h"

namespace obol::cli {
namespace {

using nlohmann::ordered_json;
using privacy::account;
using privacy::accountant_from;
using privacy::AccountantKind;
using privacy::Accounting;
using privacy::Budget;
using privacy::calibrate_gaussian;
using privacy::check;
using privacy::Event;
using privacy::FixedBatchGaussian;
using privacy::Gaussian;
using privacy::GaussianFormula;
using privacy::Guarantee;
using privacy::largest_rate;
using privacy::most_steps;
using privacy::name_of;
using privacy::SampledGaussian;
using privacy::ShardGaussian;
using privacy::smallest_noise;

struct CalibrateArguments {
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<double> sampling_rate;
  std::optional<double> noise_multiplier;
  std::optional<std::int64_t> steps;
  std::string sampling;
  std::string accountant;
  bool as_json = false;
};

Event event_of(const CalibrateArguments& arguments, double rate, double multiplier,
               std::int64_t steps) {
  if (arguments.sampling == "none") return Gaussian{multiplier, steps};
  if (arguments.sampling == "without-replacement")
    return FixedBatchGaussian{rate, multiplier, steps};
  if (arguments.sampling == "shard") return ShardGaussian{rate, multiplier, steps};
  return SampledGaussian{rate, multiplier, steps};
}

// Exactly one of the three may be left open; it is filled in.
void solve(CalibrateArguments& arguments, const Budget& budget, const Accounting& how) {
  if (arguments.sampling == "none") {
    if (arguments.sampling_rate)
      throw InvalidArgument("--sampling-rate must not be given with --sampling none");
    arguments.sampling_rate = 1;
  }
  const int open = (arguments.sampling_rate ? 0 : 1) + (arguments.noise_multiplier ? 0 : 1) +
                   (arguments.steps ? 0 : 1);
  if (open != 1)
    throw InvalidArgument(
        fmt::format("all but one of --sampling-rate, --noise-multiplier and --steps must be given, "
                    "and that one is "
                    "found, but {} are missing",
                    open));
  const auto events = [&](double rate, double multiplier, std::int64_t steps) {
    const Event event = event_of(arguments, rate, multiplier, steps);
    check(event);
    return std::vector<Event>{event};
  };
  if (!arguments.noise_multiplier) {
    arguments.noise_multiplier = smallest_noise(
        budget,
        [&](double noise) { return events(*arguments.sampling_rate, noise, *arguments.steps); },
        how);
  } else if (!arguments.steps) {
    constexpr std::int64_t kMost = std::int64_t{1} << 40;
    arguments.steps = most_steps(
        budget,
        [&](std::int64_t steps) {
          return events(*arguments.sampling_rate, *arguments.noise_multiplier, steps);
        },
        kMost, how);
    if (*arguments.steps == 0)
      throw BudgetExceeded(
          fmt::format("epsilon must be enough for one step, but {} is not at these parameters",
                      budget.epsilon.value()));
  } else {
    arguments.sampling_rate = largest_rate(
        budget,
        [&](double rate) { return events(rate, *arguments.noise_multiplier, *arguments.steps); },
        how);
  }
}

ExitCode run_calibrate(CalibrateArguments arguments) {
  const auto start = std::chrono::steady_clock::now();
  const Budget budget{Epsilon{needed(arguments.epsilon, "--epsilon")},
                      Delta{needed(arguments.delta, "--delta")}};
  const Accounting how{.kind = arguments.accountant.empty()
                                   ? AccountantKind::kTightest
                                   : accountant_from(arguments.accountant)};
  const bool finds_noise = !arguments.noise_multiplier;
  const bool finds_steps = !arguments.steps;
  solve(arguments, budget, how);
  const Guarantee cost = account({event_of(arguments, *arguments.sampling_rate,
                                           *arguments.noise_multiplier, *arguments.steps)},
                                 budget.delta, how);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (arguments.as_json) {
    ordered_json value;
    value["noise_multiplier"] = *arguments.noise_multiplier;
    value["sampling_rate"] = *arguments.sampling_rate;
    value["steps"] = *arguments.steps;
    value["epsilon"] = cost.epsilon;
    value["delta"] = cost.delta;
    value["accountant"] = name_of(cost.accountant);
    value["seconds"] = seconds.count();
    std::cout << value.dump() << '\n';
    return ExitCode::kOk;
  }
  if (finds_noise)
    std::cout << fmt::format("noise multiplier {}\n", rounded_up(*arguments.noise_multiplier));
  else if (finds_steps)
    std::cout << fmt::format("steps {}\n",
                             with_thousands(static_cast<std::uint64_t>(*arguments.steps)));
  else
    std::cout << fmt::format("sampling rate {}\n", rounded_down(*arguments.sampling_rate));
  std::cout << fmt::format("which costs epsilon {} at delta {} ({})\n", rounded_up(cost.epsilon),
                           rounded_up(cost.delta), name_of(cost.accountant));
  return ExitCode::kOk;
}

struct GaussianArguments {
  std::optional<double> epsilon;
  std::optional<double> delta;
  std::optional<double> sensitivity;
  std::string formula = "analytic";
  bool as_json = false;
};

ExitCode run_gaussian(const GaussianArguments& arguments) {
  const double sensitivity = arguments.sensitivity.value_or(1);
  if (!(sensitivity > 0))
    throw InvalidArgument(violation("--sensitivity", "positive", sensitivity));
  const GaussianFormula formula = arguments.formula == "zhao"      ? GaussianFormula::kZhao
                                  : arguments.formula == "classic" ? GaussianFormula::kClassic
                                                                   : GaussianFormula::kAnalytic;
  const double multiplier = calibrate_gaussian(Epsilon{needed(arguments.epsilon, "--epsilon")},
                                               Delta{needed(arguments.delta, "--delta")}, formula);
  if (arguments.as_json) {
    const ordered_json value = {{"noise_multiplier", multiplier},
                                {"standard_deviation", multiplier * sensitivity},
                                {"formula", arguments.formula}};
    std::cout << value.dump() << '\n';
  } else {
    std::cout << fmt::format("noise multiplier {}\nstandard deviation {}\n", rounded_up(multiplier),
                             rounded_up(multiplier * sensitivity));
  }
  return ExitCode::kOk;
}

}  // namespace

void add_calibrate(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "calibrate", "the least noise, the most steps or the largest rate that a budget allows");
  auto arguments = std::make_shared<CalibrateArguments>();
  add_number(*command, "--epsilon", arguments->epsilon, "the budget");
  add_number(*command, "--delta", arguments->delta, "of the budget");
  add_number(*command, "--sampling-rate", arguments->sampling_rate,
             "probability of a record to take part in a step");
  add_number(*command, "--noise-multiplier", arguments->noise_multiplier,
             "standard deviation of the noise over the sensitivity");
  add_whole(*command, "--steps", arguments->steps, "how often");
  command->add_option("--sampling", arguments->sampling, "how records are drawn (poisson)")
      ->check(CLI::IsMember({"poisson", "without-replacement", "shard", "none"}));
  command->add_option("--accountant", arguments->accountant, "pld (tight) or rdp")
      ->check(CLI::IsMember({"pld", "rdp"}));
  command->add_flag("--json", arguments->as_json, "for programs");
  command->require_subcommand(0, 1);
  CLI::App* gaussian =
      command->add_subcommand("gaussian", "the Gaussian mechanism alone, released once");
  auto gaussian_arguments = std::make_shared<GaussianArguments>();
  add_number(*gaussian, "--epsilon", gaussian_arguments->epsilon, "the budget");
  add_number(*gaussian, "--delta", gaussian_arguments->delta, "of the budget");
  add_number(*gaussian, "--sensitivity", gaussian_arguments->sensitivity, "l2 (1)");
  gaussian
      ->add_option("--formula", gaussian_arguments->formula,
                   "analytic (exact), zhao, or classic (epsilon below 1 only)")
      ->check(CLI::IsMember({"analytic", "zhao", "classic"}));
  gaussian->add_flag("--json", gaussian_arguments->as_json, "for programs");
  command->callback([&action, arguments, gaussian, gaussian_arguments] {
    if (gaussian->parsed())
      action = [gaussian_arguments] { return run_gaussian(*gaussian_arguments); };
    else
      action = [arguments] { return run_calibrate(*arguments); };
  });
}

}  // namespace obol::cli
