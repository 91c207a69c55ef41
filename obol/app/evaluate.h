// Is synthetic data any good? Classifiers are trained on it and tested on real images, and both are
// compared. What is found is written beside the run.
//
//   EvaluateAnswer found = evaluate({.subject = "runs/a", .classifiers = {"cnn"}});
//   found.evaluation.classifiers.front().accuracy
//
// Implemented by the target app_tensor, which needs LibTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "obol/base/file.h"
#include "obol/base/reporter.h"
#include "obol/evaluate/evaluation.h"

namespace obol::app {

// Texts may be empty where optional.
struct EvaluateRequest {
  std::string subject;               // the folder of a run, or labelled images
  std::string against;               // empty: the test split of the recipe's data
  std::optional<std::string> range;  // LOW,HIGH of the numbers in `against`, if not bytes
  std::vector<std::string> classifiers = {"logreg", "mlp", "cnn"};
  std::string protocol = "quick";
  std::optional<std::int64_t> count;  // 60000 of a run, all of a file
  std::int64_t seeds = 1;
  bool teacher = true;  // a run's images have the labels of its teacher, where it has one
  bool quality = true;
  std::string inception;
  std::string suite;
  std::int64_t suite_records = 10'000;
  bool memorisation = false;
  bool real_baseline = false;
  std::optional<double> noisy;
  std::string out;
  std::string device = "cpu";
  std::int64_t threads = 0;
  Reporter* reporter = nullptr;  // null: the one in use
};

struct EvaluateAnswer {
  evaluate::Evaluation evaluation;
  // Computed with the private images, where that was asked for: outside the guarantee.
  std::optional<evaluate::Evaluation> outside = std::nullopt;
  Path outside_file = {};
};

// InvalidArgument or DataError, in one sentence, where the images cannot be compared;
// BudgetExceeded where the budget does not allow `noisy`.
EvaluateAnswer evaluate(const EvaluateRequest& request);

}  // namespace obol::app
