// Train on synthetic, test on real: how much of what a classifier can learn from real data it
// learns from synthetic data.
//
//   TestResult result = train_and_test(synthetic, test, {.classifier = "cnn", .seed = 1});
//   result.accuracy, result.confusion, result.per_class()
//
// When to stop is decided on a tenth of the synthetic data that is held out, never on real data;
// the test data is looked at once, by the network that did best on that tenth. Logistic regression
// has nothing to decide, and is trained on all of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <torch/torch.h>

#include "obol/data/dataset.h"
#include "obol/evaluate/evaluation.h"
#include "obol/model/classifier.h"

namespace obol::evaluate {

struct LabelledImages {
  torch::Tensor images;  // [n, channels, height, width], floats in [0, 1]
  torch::Tensor labels;  // [n] of int64
};

// Bytes become floats in [0, 1].
LabelledImages to_tensors(const data::Dataset& data);

// The rows at `indices`.
LabelledImages rows_of(const LabelledImages& data, const torch::Tensor& indices);

// `count` rows at random, or all of them, shuffled; the same for the same seed.
LabelledImages some_of(const LabelledImages& data, std::int64_t count, std::uint64_t seed);

enum class Protocol {
  kQuick,  // stops after 3 epochs without improvement, and after 12
  kPaper,  // stops after 30 epochs without improvement
};

struct DownstreamOptions {
  std::string classifier = "cnn";  // logreg (by fit_logistic), mlp or cnn (by Adam)
  Protocol protocol = Protocol::kQuick;
  std::uint64_t seed = 0;  // of weights, order, dropout and hold-out
  torch::Device device = torch::kCPU;
  std::int64_t num_classes = 0;  // 0: as many as the labels show
};

struct EpochResult {
  std::int64_t epoch = 0;                   // from 1
  std::optional<double> held_out_accuracy;  // none of logreg, which holds nothing out
};
using EpochReport = std::function<void(const EpochResult&)>;

struct TestResult {
  double accuracy = 0;
  torch::Tensor confusion;  // [classes, classes] counts; rows are the true classes
  double auc = 0;           // macro_area_under_roc, see obol/evaluate/roc.h

  // Of each class; NaN where there was none to test.
  [[nodiscard]] std::vector<double> per_class() const;
  // Its mean over the classes that there were.
  [[nodiscard]] double balanced_accuracy() const;
};

// Mean and spread of accuracies and areas, one of each repetition; confusion and accuracy of each
// class are those of the first.
ClassifierScore summary(const std::string& classifier, const std::vector<TestResult>& results);

// Trains on nine tenths of the data; the weights that did best on the other tenth stay. With
// options.classifier "logreg", trains weights and intercepts on all of the data.
void train(model::Classifier& classifier, const LabelledImages& data,
           const DownstreamOptions& options, const EpochReport& report = {});

// The class of each image [n] that is thought likeliest, [n]; where the classifier is.
torch::Tensor predict(model::Classifier& classifier, const torch::Tensor& images);

// `num_classes` at least as many as the labels show.
TestResult test(model::Classifier& classifier, const LabelledImages& data,
                std::int64_t num_classes);

// A classifier of options.classifier, trained. Sets torch's seed. InvalidArgument unless images and
// labels fit each other and show two classes or more, all below num_classes.
std::shared_ptr<model::Classifier> train_classifier(const LabelledImages& data,
                                                    const DownstreamOptions& options,
                                                    const EpochReport& report = {});

// The same, then tested on `real`, of the same size and classes.
TestResult train_and_test(const LabelledImages& synthetic, const LabelledImages& real,
                          const DownstreamOptions& options, const EpochReport& report = {});

}  // namespace obol::evaluate
