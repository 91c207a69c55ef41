// obol sweep: a recipe at every point of a grid, trained, evaluated, and put into one table
#include "obol/app/sweep.h"

#include <iostream>
#include <memory>
#include <string>

#include <fmt/format.h>

#include "cli/app.h"
#include "cli/numbers.h"
#include "cli/tensor_part.h"
#include "obol/base/text.h"

namespace obol::cli {
namespace {

struct SweepArguments {
  app::SweepRequest request;
  std::string out;
  bool without_evaluation = false;
};

ExitCode run(SweepArguments& arguments) {
  app::SweepRequest& request = arguments.request;
  request.out = arguments.out;
  request.evaluated = !arguments.without_evaluation;
  const app::SweepEnd end = app::sweep(
      request, {.train = [](const auto& one) { return needed_tensor_part().train(one); },
                .evaluate = [](const auto& one) { return needed_tensor_part().evaluate(one); }});
  std::cout << to_text(end.sweep) << '\n'
            << wrapped(report::not_covered_by_sweep(request.out), 100) << '\n';
  if (!end.was_interrupted) return end.failure;
  std::cout << fmt::format("\ninterrupted with {} of {} runs done; the same command goes on\n",
                           end.done, end.runs);
  return ExitCode::kInterrupted;
}

}  // namespace

void add_sweep(CLI::App& root, Action& action) {
  CLI::App* command =
      root.add_subcommand("sweep", "a recipe at every point of a grid: runs, one table, a plot");
  auto arguments = std::make_shared<SweepArguments>();
  EvaluateRequest& evaluation = arguments->request.evaluation;
  command
      ->add_option("recipe", arguments->request.recipe,
                   "a name from 'obol recipes list', or a file")
      ->required();
  command
      ->add_option("--grid", arguments->request.grid,
                   "section.key=value,value,...; once for each key")
      ->required()
      ->allow_extra_args(false);
  command
      ->add_option("--out", arguments->out, "the folder of the runs; those in it are gone on with")
      ->required();
  command->add_option("--set", arguments->request.overrides, "section.key=value, at all points")
      ->allow_extra_args(false);
  add_whole(*command, "--repeat", arguments->request.repeat, "runs at each point (1)");
  command->add_flag("--no-evaluate", arguments->without_evaluation, "train alone");
  command->add_option("--classifiers", evaluation.classifiers, "logreg, mlp, cnn (all three)")
      ->delimiter(',')
      ->check(CLI::IsMember({"logreg", "mlp", "cnn"}));
  add_whole(*command, "--count", evaluation.count, "synthetic images that they train on (60000)");
  add_whole(*command, "--seeds", evaluation.seeds, "repetitions of the evaluation (1)");
  command->add_option("--against", evaluation.against,
                      "real data: its test split, or all of it (the test split of the recipe's)");
  add_device_options(*command, evaluation.device, evaluation.threads);
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace obol::cli
