// obol privatize: noise before anything leaves its owner
#include "obol/app/privatize.h"

#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/declaration.h"
#include "cli/numbers.h"
#include "obol/base/text.h"

namespace obol::cli {
namespace {

using local::PrivatizeOptions;
using privacy::GaussianFormula;

struct PrivatizeArguments {
  app::PrivatizeRequest request;
  std::string mechanism;
  std::optional<double> radius;
  std::string transform = "none";
  std::string formula;
  std::string labels = "drop";
  std::optional<double> label_epsilon;
  bool published = false;
  bool as_json = false;
};

PrivatizeOptions options_of(const PrivatizeArguments& arguments) {
  PrivatizeOptions options = arguments.request.options;
  options.mechanism = local::mechanism_from(arguments.mechanism);
  options.radius = needed(arguments.radius, "--radius");
  options.transform = local::transform_from(arguments.transform);
  if (!options.epsilon && !options.noise)
    throw InvalidArgument(violation("--epsilon", "given, or --noise", "missing"));
  if (arguments.published && options.noise)
    throw InvalidArgument(violation("--published", "given with --epsilon only", "given"));
  if (arguments.published) options.counting = local::Counting::kPublished;
  // The paper's own formula goes with the paper's own count.
  const bool by_zhao =
      arguments.formula.empty() ? arguments.published : arguments.formula == "zhao";
  options.formula = by_zhao ? GaussianFormula::kZhao : GaussianFormula::kAnalytic;
  if (!arguments.formula.empty() && options.mechanism == local::Mechanism::kLaplace)
    throw InvalidArgument("--formula must be given with --mechanism gaussian only, but is");
  if (arguments.labels == "randomized-response")
    options.label_epsilon = needed(arguments.label_epsilon, "--label-epsilon");
  else if (arguments.label_epsilon)
    throw InvalidArgument(violation("--label-epsilon",
                                    "given with --labels randomized-response only",
                                    *arguments.label_epsilon));
  return options;
}

void print_json(const local::PrivatizeOutcome& outcome) {
  const local::Privatization& how = outcome.how;
  nlohmann::ordered_json found = {{"records", outcome.records},
                                  {"scale", how.scale},
                                  {"sensitivity", how.sensitivity},
                                  {"epsilon", outcome.certificate.guarantee.epsilon},
                                  {"delta", how.delta},
                                  {"is_private", how.is_private()},
                                  {"certificate", outcome.certificate_folder.string()}};
  if (outcome.certificate.published)
    found["published_epsilon"] = outcome.certificate.published->epsilon;
  std::cout << found.dump(2) << '\n';
}

ExitCode run_privatize(PrivatizeArguments& arguments) {
  arguments.request.options = options_of(arguments);
  const local::PrivatizeOutcome outcome = app::privatize(arguments.request);
  const local::Privatization& how = outcome.how;
  const privacy::Certificate& certificate = outcome.certificate;
  if (arguments.as_json) {
    print_json(outcome);
    return ExitCode::kOk;
  }
  const bool is_laplace = how.mechanism == local::Mechanism::kLaplace;
  std::cout << fmt::format(
      "{}: {} records of {}, each in an {} ball of radius {:g}, with {} noise of {} {}\n",
      arguments.request.out, with_thousands(static_cast<std::uint64_t>(outcome.records)),
      to_string(how.shape), is_laplace ? "l1" : "l2", how.radius,
      is_laplace ? "Laplace" : "Gaussian", is_laplace ? "scale" : "standard deviation",
      rounded_down(how.scale));
  std::cout << fmt::format("guarantee        epsilon {} at delta {}, of each person\n",
                           rounded_up(certificate.guarantee.epsilon), rounded_up(how.delta));
  if (certificate.published)
    std::cout << fmt::format(
        "as published     epsilon {}, by the radius {:g} in place of the sensitivity {:.6g}\n",
        rounded_up(certificate.published->epsilon), how.radius, how.sensitivity);
  if (!how.is_private()) std::cout << fmt::format("randomness       {}\n", how.randomness);
  std::cout << fmt::format("certificate      {}\n", outcome.certificate_folder.string());
  return ExitCode::kOk;
}

}  // namespace

void add_privatize(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "privatize", "add noise to every record, as its owner would, with a certificate");
  auto arguments = std::make_shared<PrivatizeArguments>();
  app::PrivatizeRequest& request = arguments->request;
  data::RecipeData& source = request.source;
  command->add_option("data", source.source, "a name from 'obol data list', a file or a folder")
      ->required();
  command->add_option("--mechanism", arguments->mechanism, "gaussian (l2 ball) or laplace (l1)")
      ->required()
      ->check(CLI::IsMember({"gaussian", "laplace"}));
  add_number(*command, "--epsilon", request.options.epsilon, "of each person's record");
  add_number(*command, "--noise", request.options.noise,
             "on every number, in place of --epsilon: standard deviation, or Laplace scale");
  add_number(*command, "--delta", request.options.delta, "of Gaussian noise");
  add_number(*command, "--radius", arguments->radius,
             "of the ball; public, and not to be read off the data");
  command->add_option("--transform", arguments->transform, "none (default) or dct")
      ->check(CLI::IsMember({"none", "dct"}));
  add_number(*command, "--keep", request.options.keep,
             "share of the transformed numbers that is kept, the largest (0.2)");
  command
      ->add_option("--formula", arguments->formula,
                   "of the Gaussian noise: analytic (exact), or zhao (with --published)")
      ->check(CLI::IsMember({"analytic", "zhao"}));
  command->add_option("--labels", arguments->labels, "drop (default) or randomized-response")
      ->check(CLI::IsMember({"drop", "randomized-response"}));
  add_number(*command, "--label-epsilon", arguments->label_epsilon, "of each person's label");
  command->add_flag("--published", arguments->published,
                    "epsilon is the paper's, by the radius: what holds is larger");
  command->add_option("--split", source.split, "train (default), validation or test")
      ->check(CLI::IsMember({"train", "validation", "test"}));
  command->add_option("--resize", source.resize, "WxH: area averaging down, linear up");
  add_declaration_options(*command, source.declared);
  command->add_option("--crop", source.crop, "side of the centred square of a picture")
      ->check(CLI::PositiveNumber);
  command->add_option("--attribute", source.attribute, "CelebA's attribute that is the label");
  command->add_option("--label-column", source.label_column,
                      "a CSV column's name or number, or none");
  add_whole(*command, "--count", request.count, "the first so many records; for experiments");
  command->add_option("--seed", request.seed, "for experiments: not private");
  command->add_option("--out", request.out, "FILE.npz; FILE-certificate is written beside it")
      ->required();
  command->add_flag("--json", arguments->as_json, "for programs");
  command->callback(
      [&action, arguments] { action = [arguments] { return run_privatize(*arguments); }; });
}

}  // namespace obol::cli
