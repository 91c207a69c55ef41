// obol account: what releases cost, of a recipe before paying, of runs so far, or by numbers
#include "obol/app/account.h"

#include <iostream>
#include <memory>
#include <optional>

#include "cli/app.h"
#include "cli/numbers.h"
#include "obol/app/calibrate.h"
#include "obol/base/console.h"
#include "obol/base/file.h"
#include "obol/base/text.h"

namespace obol::cli {
namespace {

struct AccountArguments {
  app::AccountRequest request;  // what to account for, and overrides
  std::string data;
  std::string split = "train";
  std::optional<double> sampling_rate;
  std::optional<double> noise_multiplier;
  std::optional<double> delta;
  std::optional<std::int64_t> steps;
  std::optional<std::int64_t> releases_per_step;
  std::string sampling;
  std::string accountant;
  std::string conversion = "tight";
  std::string orders;
  std::string plot;
  bool as_json = false;
};

privacy::Event event_of(const AccountArguments& arguments) {
  const std::int64_t releases = arguments.releases_per_step.value_or(1);
  const double multiplier = privacy::joint(needed(arguments.noise_multiplier, "--noise-multiplier"),
                                           static_cast<double>(releases));
  const std::int64_t steps = needed(arguments.steps, "--steps");
  if (releases < 1) throw InvalidArgument(violation("--releases-per-step", "at least 1", releases));
  if (arguments.sampling != "none")
    return app::gaussian_event(
        arguments.sampling, needed(arguments.sampling_rate, "--sampling-rate"), multiplier, steps);
  if (arguments.sampling_rate)
    throw InvalidArgument("--sampling-rate must not be given with --sampling none");
  return privacy::Gaussian{multiplier, steps};
}

privacy::Accounting accounting_of(const AccountArguments& arguments) {
  const bool is_classic = arguments.conversion == "classic";
  // The conversion is one of Renyi divergences.
  if (is_classic && arguments.accountant == "pld")
    throw InvalidArgument(
        "--conversion classic must not be given with --accountant pld: it converts "
        "Renyi divergences");
  const auto by_default =
      is_classic ? privacy::AccountantKind::kRdp : privacy::AccountantKind::kTightest;
  return {.kind = arguments.accountant.empty() ? by_default
                                               : privacy::accountant_from(arguments.accountant),
          .conversion = is_classic ? privacy::Conversion::kClassic : privacy::Conversion::kTight};
}

std::vector<app::RenyiOrder> orders_of(const std::string& orders) {
  std::vector<app::RenyiOrder> found;
  if (orders.empty()) return found;
  for (const std::string& text : split(orders, ',')) {
    const std::optional<double> order = parse_number(trim(text));
    if (!order) throw InvalidArgument(violation("--orders", "numbers separated by commas", text));
    found.push_back({std::string(trim(text)), *order});
  }
  return found;
}

app::AccountRequest request_of(const AccountArguments& arguments) {
  app::AccountRequest request = arguments.request;
  request.orders = orders_of(arguments.orders);
  request.how = accounting_of(arguments);
  if (arguments.delta) request.delta = Delta{*arguments.delta};
  if (request.what.empty())
    request.event = event_of(arguments);
  else if (arguments.sampling_rate || arguments.noise_multiplier || arguments.steps ||
           !arguments.sampling.empty() || arguments.releases_per_step)
    throw InvalidArgument(
        "--sampling, --sampling-rate, --noise-multiplier, --steps and --releases-per-step must not "
        "be given with a recipe or a run: those have their own");
  return request;
}

ExitCode account_data(const AccountArguments& arguments) {
  if (!arguments.request.what.empty() || arguments.steps || arguments.noise_multiplier)
    throw InvalidArgument("--data must be given alone, but is with something else to account for");
  const app::DataCost cost =
      app::account_data(arguments.data, data::RecipeData{.split = arguments.split}.options().split);
  std::cout << (arguments.as_json ? to_json(cost) + '\n' : to_text(cost));
  return ExitCode::kOk;
}

ExitCode run_account(const AccountArguments& arguments) {
  if (!arguments.data.empty()) return account_data(arguments);
  const app::Account found = app::account(request_of(arguments));
  std::cout << (arguments.as_json ? to_json(found) + '\n' : to_text(found));
  if (arguments.plot.empty()) return ExitCode::kOk;
  write_file(arguments.plot, to_svg(found));
  log_info("wrote {}", arguments.plot);
  return ExitCode::kOk;
}

}  // namespace

void add_account(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "account", "the price of a recipe before paying, of runs as planned, or of numbers");
  auto arguments = std::make_shared<AccountArguments>();
  command->add_option("what", arguments->request.what,
                      "a recipe, or runs on the same data, or folders of them");
  command->add_option("--data", arguments->data,
                      "what these private data have cost on this machine, in all runs");
  command->add_option("--split", arguments->split, "of --data: train (default), validation or test")
      ->check(CLI::IsMember({"train", "validation", "test"}));
  add_number(*command, "--sampling-rate", arguments->sampling_rate,
             "probability of a record to take part in a step");
  add_number(*command, "--noise-multiplier", arguments->noise_multiplier,
             "standard deviation of the noise over the sensitivity");
  add_whole(*command, "--steps", arguments->steps, "how often");
  add_number(*command, "--delta", arguments->delta, "the probability that is given away");
  command->add_option("--sampling", arguments->sampling, "how records are drawn (poisson)")
      ->check(CLI::IsMember({"poisson", "without-replacement", "shard", "none"}));
  add_whole(*command, "--releases-per-step", arguments->releases_per_step,
            "outputs of one subsample, each with the noise (1)");
  add_whole(*command, "--group-size", arguments->request.group_size,
            "records that one person may have given (1)");
  command->add_option("--accountant", arguments->accountant, "pld (tight) or rdp")
      ->check(CLI::IsMember({"pld", "rdp"}));
  command
      ->add_option("--conversion", arguments->conversion, "of rdp: tight, or classic as in papers")
      ->check(CLI::IsMember({"tight", "classic"}));
  command->add_option("--orders", arguments->orders, "also show the Renyi curve there: 1.25,2,8");
  command->add_option("--plot", arguments->plot, "draw epsilon over steps into an SVG file");
  command->add_option("--set", arguments->request.overrides, "section.key=value, with a recipe")
      ->allow_extra_args(false);
  command->add_flag("--json", arguments->as_json, "for programs");
  command->callback(
      [&action, arguments] { action = [arguments] { return run_account(*arguments); }; });
}

}  // namespace obol::cli
