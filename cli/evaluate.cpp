// obol evaluate: is the synthetic data any good?
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "cli/app.h"
#include "cli/numbers.h"
#include "cli/tensor_part.h"
#include "obol/base/console.h"

namespace obol::cli {
namespace {

using evaluate::Evaluation;

struct EvaluateArguments {
  EvaluateRequest request;
  bool without_quality = false;
  bool without_teacher = false;
  bool as_json = false;
};

void print_classifiers(const Evaluation& found) {
  if (found.classifiers.empty()) return;
  std::cout << fmt::format(
      "trained on {} synthetic images, tested on {} real ones ({} protocol, version "
      "{})\n",
      *found.synthetic, *found.test, found.protocol, *found.protocol_version);
  for (const evaluate::ClassifierScore& score : found.classifiers) {
    const bool is_repeated = score.accuracies.size() > 1;
    const auto spread = [&](double deviation, int digits) {
      return is_repeated ? fmt::format(" +- {:.{}f}", deviation, digits) : std::string();
    };
    std::cout << fmt::format(
        "  {:<22}{:.1f}%{}, balanced {:.1f}%{}, AUC {:.3f}{}\n", score.classifier,
        100 * *score.accuracy, spread(100 * *score.deviation, 1), 100 * *score.balanced_accuracy,
        spread(100 * *score.balanced_deviation, 1), *score.auc, spread(*score.auc_deviation, 3));
  }
  if (!found.suite) return;
  std::cout << fmt::format("trained on {} of them, with scikit-learn's defaults\n",
                           *found.suite->records);
  for (const evaluate::SuiteScore& score : found.suite->scores)
    std::cout << fmt::format("  {:<22}{:.1f}%\n", score.classifier, 100 * score.accuracy);
}

void print_junk(const evaluate::Quality& junk) {
  std::cout << fmt::format("  {:<22}{:.1f}%", junk.name, 100 * *junk.value);
  if (junk.deviation) std::cout << fmt::format(" +- {:.1f}", 100 * *junk.deviation);
  if (junk.between_real)
    std::cout << fmt::format(" ({:.2g}% expected of real ones)", 100 * *junk.between_real);
  std::cout << '\n';
}

void print_quality(const std::vector<evaluate::Quality>& quality) {
  if (quality.empty()) return;
  std::cout << "the images themselves\n";
  for (const evaluate::Quality& metric : quality) {
    if (metric.name == evaluate::kJunkRate) {
      print_junk(metric);
      continue;
    }
    std::cout << fmt::format("  {:<22}{:.4g}", metric.name, *metric.value);
    if (metric.deviation) std::cout << fmt::format(" +- {:.2g}", *metric.deviation);
    if (metric.between_real)
      std::cout << fmt::format(" ({:.4g} between real ones)", *metric.between_real);
    else if (!metric.against.empty())
      std::cout << fmt::format(" against {}", metric.against);
    std::cout << '\n';
  }
}

void print_outside(const Evaluation& outside, const Path& file) {
  std::cout << fmt::format("computed with the private images, outside the guarantee ({})\n",
                           file.string());
  for (const evaluate::ClassifierScore& score : outside.classifiers)
    std::cout << fmt::format(
        "  {:<22}{:.1f}% (balanced {:.1f}%, AUC {:.3f}) trained on real images, of "
        "which {:.0f}% is kept\n",
        score.classifier, 100 * *score.on_real, 100 * *score.balanced_on_real, *score.auc_on_real,
        100 * *score.calibrated);
  if (const auto& found = outside.memorisation)
    std::cout << fmt::format("  {:<22}{:.3f} ({:.3f} to {:.3f}; 1: none)\n", "memorisation ratio",
                             *found->ratio, *found->low, *found->high);
}

void print(const EvaluateAnswer& answer) {
  const Evaluation& found = answer.evaluation;
  print_classifiers(found);
  print_quality(found.quality);
  if (const auto& validation = found.validation)
    std::cout << fmt::format(
        "on the private images, paid for from the budget\n  {:<22}{:.1f}% +- {:.1f}\n",
        validation->classifier, 100 * *validation->accuracy, 100 * *validation->standard_error);
  if (answer.outside) print_outside(*answer.outside, answer.outside_file);
}

ExitCode run(EvaluateArguments& arguments) {
  EvaluateRequest& request = arguments.request;
  request.quality = !arguments.without_quality;
  request.teacher = !arguments.without_teacher;
  const EvaluateAnswer answer = needed_tensor_part().evaluate(request);
  if (!arguments.as_json) {
    print(answer);
    return ExitCode::kOk;
  }
  std::cout << answer.evaluation.to_json() << '\n';
  if (answer.outside) log_info("outside the guarantee: {}", answer.outside_file.string());
  return ExitCode::kOk;
}

void add_private_options(CLI::App& command, EvaluateArguments& arguments) {
  EvaluateRequest& request = arguments.request;
  command.add_flag("--memorisation", request.memorisation,
                   "are they nearer to the private images than to others? Outside the guarantee");
  command.add_flag("--real-baseline", request.real_baseline,
                   "classifiers trained on the private images as well. Outside the guarantee");
  add_number(
      command, "--noisy", request.noisy,
      "accuracy on the private images with noise of so many records, paid for in the ledger");
}

}  // namespace

void add_evaluate(CLI::App& root, Action& action) {
  CLI::App* command = root.add_subcommand(
      "evaluate", "train classifiers on synthetic images, test them on real ones, compare both");
  auto arguments = std::make_shared<EvaluateArguments>();
  EvaluateRequest& request = arguments->request;
  command->add_option("run", request.subject, "the folder of a run, or images")->required();
  command->add_option("--against", request.against,
                      "real data: its test split, or all of it (the test split of the recipe's)");
  command->add_option("--range", request.range,
                      "LOW,HIGH of the numbers in --against, if they are not bytes and neither its "
                      "declaration nor the run's recipe says it");
  command->add_option("--classifiers", request.classifiers, "logreg, mlp, cnn (all three)")
      ->delimiter(',')
      ->check(CLI::IsMember({"logreg", "mlp", "cnn"}));
  command->add_option("--protocol", request.protocol, "quick (default) or paper")
      ->check(CLI::IsMember({"quick", "paper"}));
  add_whole(*command, "--count", request.count, "synthetic images (60000, or all of a file)");
  add_whole(*command, "--seeds", request.seeds, "repetitions: samples and classifiers anew (1)");
  command->add_flag("--no-quality", arguments->without_quality, "classifiers alone");
  command->add_flag("--no-teacher", arguments->without_teacher,
                    "labels as the generator was asked for, not as teacher.safetensors sees them");
  command->add_option("--inception", request.inception, "TorchScript network, for the real FID");
  command->add_option("--suite", request.suite, "sklearn: thirteen classifiers, by Python")
      ->check(CLI::IsMember({"sklearn"}));
  add_whole(*command, "--suite-records", request.suite_records, "that they train on (10000)");
  add_private_options(*command, *arguments);
  command->add_option("--out", request.out, "write the JSON to this file as well");
  add_device_options(*command, request.device, request.threads);
  command->add_flag("--json", arguments->as_json, "for programs");
  command->callback([&action, arguments] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace obol::cli
