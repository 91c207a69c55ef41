// obol calibrate [gaussian]: what a budget allows
#include "obol/app/calibrate.h"

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
using privacy::GaussianFormula;
using privacy::name_of;

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

void print(const CalibrateArguments& arguments, const app::Calibrated& found) {
  if (!arguments.noise_multiplier)
    std::cout << fmt::format("noise multiplier {}\n", rounded_up(found.noise_multiplier));
  else if (!arguments.steps)
    std::cout << fmt::format("steps {}\n", with_thousands(static_cast<std::uint64_t>(found.steps)));
  else
    std::cout << fmt::format("sampling rate {}\n", rounded_down(found.sampling_rate));
  std::cout << fmt::format("which costs epsilon {} at delta {} ({})\n",
                           rounded_up(found.cost.epsilon), rounded_up(found.cost.delta),
                           name_of(found.cost.accountant));
}

ExitCode run_calibrate(const CalibrateArguments& arguments) {
  app::CalibrateRequest request{.budget = {Epsilon{needed(arguments.epsilon, "--epsilon")},
                                           Delta{needed(arguments.delta, "--delta")}},
                                .sampling = arguments.sampling,
                                .sampling_rate = arguments.sampling_rate,
                                .noise_multiplier = arguments.noise_multiplier,
                                .steps = arguments.steps};
  if (!arguments.accountant.empty())
    request.how.kind = privacy::accountant_from(arguments.accountant);
  const app::Calibrated found = app::calibrate(request);
  if (!arguments.as_json) {
    print(arguments, found);
    return ExitCode::kOk;
  }
  const ordered_json value = {{"noise_multiplier", found.noise_multiplier},
                              {"sampling_rate", found.sampling_rate},
                              {"steps", found.steps},
                              {"epsilon", found.cost.epsilon},
                              {"delta", found.cost.delta},
                              {"accountant", name_of(found.cost.accountant)},
                              {"seconds", found.seconds}};
  std::cout << value.dump() << '\n';
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
  const double multiplier =
      privacy::calibrate_gaussian(Epsilon{needed(arguments.epsilon, "--epsilon")},
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
