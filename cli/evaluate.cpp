// obol evaluate: is the synthetic data any good?
#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/numbers.h"
#include "cli/tensor_part.h"

namespace obol::cli {
namespace {

using nlohmann::ordered_json;

struct Arguments {
  EvaluateRequest request;
  std::optional<std::int64_t> count;
  std::optional<std::int64_t> seeds;
  std::optional<std::int64_t> threads;
  bool as_json = false;
};

ordered_json to_json(const EvaluateAnswer& answer) {
  ordered_json classifiers = ordered_json::object();
  for (const ClassifierScore& score : answer.scores)
    classifiers[score.classifier] = {{"accuracy", score.mean},
                                     {"standard_deviation", score.deviation},
                                     {"accuracies", score.accuracies}};
  return {{"protocol", answer.protocol},
          {"synthetic", answer.synthetic},
          {"test", answer.test},
          {"classifiers", classifiers},
          {"seconds", answer.seconds}};
}

void print(const EvaluateAnswer& answer) {
  std::cout << fmt::format("trained on {} synthetic images, tested on {} real ones ({} protocol)\n",
                           answer.synthetic, answer.test, answer.protocol);
  for (const ClassifierScore& score : answer.scores) {
    std::cout << fmt::format("  {:<8}{:.1f}%", score.classifier, 100 * score.mean);
    if (score.accuracies.size() > 1) std::cout << fmt::format(" +- {:.1f}", 100 * score.deviation);
    std::cout << '\n';
  }
}

ExitCode run(Arguments& arguments) {
  const TensorPart* tensors = tensor_part();
  if (tensors == nullptr)
    throw InvalidArgument("this command needs LibTorch, but this build has none");
  EvaluateRequest& request = arguments.request;
  request.count = arguments.count.value_or(request.count);
  request.seeds = arguments.seeds.value_or(request.seeds);
  request.threads = arguments.threads.value_or(0);
  const EvaluateAnswer answer = tensors->evaluate(request);
  if (arguments.as_json)
    std::cout << to_json(answer).dump(2) << '\n';
  else
    print(answer);
  return ExitCode::kOk;
}

}  // namespace

void add_evaluate(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "evaluate", "train classifiers on synthetic images, test them on real ones");
  auto arguments = std::make_shared<Arguments>();
  EvaluateRequest& request = arguments->request;
  command->add_option("run", request.run, "the folder of a run")->required();
  command->add_option("--classifiers", request.classifiers, "logreg, mlp, cnn (all three)")
      ->delimiter(',')
      ->check(CLI::IsMember({"logreg", "mlp", "cnn"}));
  command->add_option("--protocol", request.protocol, "quick (default) or paper")
      ->check(CLI::IsMember({"quick", "paper"}));
  add_whole(*command, "--count", arguments->count, "synthetic images (60000)");
  add_whole(*command, "--seeds", arguments->seeds, "repetitions: samples and classifiers anew (1)");
  command->add_option("--test", request.test, "real data, if not the test split of the recipe's");
  command->add_option("--device", request.device, "cpu (default) or cuda")
      ->check(CLI::IsMember({"cpu", "cuda"}));
  add_whole(*command, "--threads", arguments->threads, "of the processor (all)");
  command->add_flag("--json", arguments->as_json, "for programs");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace obol::cli
