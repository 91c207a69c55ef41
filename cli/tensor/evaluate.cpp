#include "cli/tensor/evaluate.h"

#include <chrono>
#include <cmath>

#include <fmt/format.h>
#include <torch/torch.h>

#include "cli/tensor/device.h"
#include "obol/base/console.h"
#include "obol/base/interrupt.h"
#include "obol/data/reader.h"
#include "obol/evaluate/downstream.h"
#include "obol/model/sample.h"
#include "obol/model/script.h"
#include "obol/recipe/recipe.h"
#include "obol/run/folder.h"

namespace obol::cli {
namespace {

// The test split of what the run was trained on, or another file.
data::Dataset test_data(const run::RunFolder& folder, const std::string& other) {
  auto recipe = recipe::Recipe::parse(folder.recipe(), "recipe.toml");
  auto described = recipe.read<data::RecipeData>("data");
  data::ReadOptions options = described.options();
  if (!other.empty()) {
    options.split = data::Split::kTrain;  // all of it
    return data::read(other, options);
  }
  options.split = data::Split::kTest;
  if (!described.source) throw DataError("the run's recipe must name its data, but does not");
  return data::read(*described.source, options);
}

double accuracy(const EvaluateRequest& request, const std::string& classifier, std::uint64_t seed,
                const evaluate::LabelledImages& synthetic, const evaluate::LabelledImages& real,
                const torch::Device& device) {
  constexpr std::int64_t kQuickEpochs = 12;
  const bool is_quick = request.protocol == "quick";
  Progress progress(fmt::format("training {}", classifier), is_quick ? kQuickEpochs : 0, "epochs");
  return evaluate::train_and_test(
      synthetic, real,
      {.classifier = classifier,
       .protocol = is_quick ? evaluate::Protocol::kQuick : evaluate::Protocol::kPaper,
       .seed = seed,
       .device = device},
      [&](const evaluate::Progress& at) {
        check_interrupt();
        progress.advance(1, fmt::format("{:.1f}% held out", 100 * at.held_out_accuracy));
      });
}

void summarise(ClassifierScore& score) {
  const auto count = static_cast<double>(score.accuracies.size());
  for (const double value : score.accuracies) score.mean += value / count;
  double squares = 0;
  for (const double value : score.accuracies) squares += std::pow(value - score.mean, 2);
  if (count > 1) score.deviation = std::sqrt(squares / (count - 1));
}

}  // namespace

EvaluateAnswer run_evaluate(const EvaluateRequest& request) {
  const auto start = std::chrono::steady_clock::now();
  const torch::Device device = use_device(request.device, request.threads);
  if (request.seeds < 1) throw InvalidArgument(violation("--seeds", "at least 1", request.seeds));
  const run::RunFolder folder = run::RunFolder::open(request.run);
  const data::Dataset test = test_data(folder, request.test);
  const evaluate::LabelledImages real = evaluate::to_tensors(test);
  const auto generator = model::load_generator(folder.generator());
  if (generator->shape() != test.shape)
    throw DataError(violation("the test images",
                              data::to_string(generator->shape()) + " as generated",
                              data::to_string(test.shape)));
  generator->to(device);
  EvaluateAnswer answer{
      .protocol = request.protocol, .synthetic = request.count, .test = test.count()};
  for (const std::string& name : request.classifiers) answer.scores.push_back({.classifier = name});
  for (std::int64_t seed = 0; seed < request.seeds; ++seed) {
    const evaluate::LabelledImages synthetic =
        evaluate::to_tensors(model::sample(*generator, {.count = request.count, .seed = seed + 1}));
    for (ClassifierScore& score : answer.scores)
      score.accuracies.push_back(accuracy(request, score.classifier,
                                          static_cast<std::uint64_t>(seed) + 1, synthetic, real,
                                          device));
  }
  for (ClassifierScore& score : answer.scores) summarise(score);
  answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return answer;
}

}  // namespace obol::cli
