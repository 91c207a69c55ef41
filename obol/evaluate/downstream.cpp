#include "obol/evaluate/downstream.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "obol/base/error.h"
#include "obol/evaluate/logistic.h"
#include "obol/evaluate/roc.h"
#include "obol/evaluate/spread.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

constexpr std::int64_t kBatch = 500;  // of 50,000 images and more
constexpr std::int64_t kSmallestBatch = 50;
constexpr std::int64_t kStepsInAnEpoch = 100;
// A batch is passed in parts: the tensors of a part stay in memory that malloc reuses, those of a
// whole batch are handed back to the system and faulted in anew each time.
constexpr std::int64_t kPartOfBatch = 50;
constexpr double kLearningRate = 1e-3;
constexpr std::int64_t kHeldOut = 10;  // one in so many
// Logistic regression evaluates its objective so often in what counts as an epoch.
constexpr std::int64_t kEvaluations = 10;

struct Patience {
  std::int64_t epochs;
  std::int64_t most;
};

Patience patience_of(Protocol protocol) {
  if (protocol == Protocol::kQuick) return {3, 12};
  return {30, std::numeric_limits<std::int64_t>::max()};
}

void check(const LabelledImages& data, std::string_view name) {
  if (!data.images.defined() || data.images.dim() != 4 || data.images.scalar_type() != at::kFloat)
    throw InvalidArgument(violation(fmt::format("the {} images", name),
                                    "floats [n, channels, height, width]", "something else"));
  if (!data.labels.defined() || data.labels.dim() != 1 || data.labels.scalar_type() != at::kLong ||
      data.labels.size(0) != data.images.size(0))
    throw InvalidArgument(violation(fmt::format("the {} labels", name),
                                    "one 64-bit number for each image", "something else"));
  if (data.images.size(0) == 0)
    throw InvalidArgument(violation(fmt::format("the {} data", name), "not empty", "empty"));
  if (data.labels.min().item<std::int64_t>() < 0)
    throw InvalidArgument(violation(fmt::format("the {} labels", name), "not negative",
                                    data.labels.min().item<std::int64_t>()));
}

void check_classes(const LabelledImages& data, std::string_view name, std::int64_t num_classes) {
  const auto largest = data.labels.max().item<std::int64_t>();
  if (largest >= num_classes)
    throw InvalidArgument(violation(fmt::format("the {} labels", name),
                                    fmt::format("from 0 to {}", num_classes - 1), largest));
}

data::ImageShape shape_of(const LabelledImages& data) {
  return {data.images.size(1), data.images.size(2), data.images.size(3)};
}

LabelledImages on_device(const LabelledImages& data, const torch::Device& device) {
  return {data.images.to(device), data.labels.to(device)};
}

double accuracy(model::Classifier& classifier, const LabelledImages& data) {
  return predict(classifier, data.images).eq(data.labels).to(torch::kDouble).mean().item<double>();
}

// One epoch of training.
class Trainer {
 public:
  Trainer(model::Classifier& classifier, const LabelledImages& data)
      : classifier_(classifier),
        data_(data),
        adam_(classifier.parameters(), torch::optim::AdamOptions(kLearningRate)) {}

  void epoch() {
    classifier_.train();
    const std::int64_t count = data_.labels.size(0);
    const Tensor order = torch::randperm(count, data_.labels.options());
    // Few images would else be seen in a handful of steps, and little be learned of them.
    const auto size = std::clamp(count / kStepsInAnEpoch, kSmallestBatch, kBatch);
    for (const Tensor& batch : order.split(size)) {
      adam_.zero_grad();
      for (const Tensor& part : batch.split(batch.is_cpu() ? kPartOfBatch : kBatch))
        add_loss(rows_of(data_, part), batch.size(0));
      adam_.step();
    }
  }

 private:
  // The share of some images in the mean loss of `total`, and of its gradient.
  void add_loss(const LabelledImages& images, std::int64_t total) {
    const Tensor logits = classifier_.forward(images.images);
    const Tensor sum = at::cross_entropy_loss(logits, images.labels, {}, at::Reduction::Sum) /
                       static_cast<double>(total);
    sum.backward();
  }

  model::Classifier& classifier_;
  const LabelledImages& data_;
  torch::optim::Adam adam_;
};

std::vector<Tensor> copies_of(const std::vector<Tensor>& tensors) {
  std::vector<Tensor> copies;
  for (const Tensor& tensor : tensors) copies.push_back(tensor.detach().clone());
  return copies;
}

void restore(model::Classifier& classifier, const std::vector<Tensor>& weights) {
  const torch::NoGradGuard no_grad;
  const std::vector<Tensor> parameters = classifier.parameters();
  for (std::size_t k = 0; k < weights.size(); ++k) parameters[k].copy_(weights[k]);
}

// Leaves the classifier with the weights that did best on the hold-out.
void train_until_it_rests(model::Classifier& classifier, const LabelledImages& training,
                          const LabelledImages& held_out, const DownstreamOptions& options,
                          const EpochReport& report) {
  const Patience patience = patience_of(options.protocol);
  Trainer trainer(classifier, training);
  double best = -1;
  std::int64_t best_epoch = 0;
  std::vector<Tensor> best_weights;
  for (std::int64_t epoch = 1; epoch <= patience.most && epoch - best_epoch <= patience.epochs;
       ++epoch) {
    trainer.epoch();
    const double score = accuracy(classifier, held_out);
    if (report) report({epoch, score});
    if (score > best) {
      best = score;
      best_epoch = epoch;
      best_weights = copies_of(classifier.parameters());
    }
  }
  restore(classifier, best_weights);
}

void train_logistic(model::Classifier& classifier, const LabelledImages& data,
                    const EpochReport& report) {
  std::int64_t evaluations = 0;
  const auto count = [&] {
    if (++evaluations % kEvaluations == 0 && report)
      report({evaluations / kEvaluations, std::nullopt});
  };
  const std::int64_t classes = classifier.parameters().front().size(0);
  const LogisticFit fit = fit_logistic(data.images, data.labels, classes, {}, count);
  restore(classifier, {fit.weights, fit.intercepts});
}

// [n, classes], where the classifier is.
Tensor logits_of(model::Classifier& classifier, const Tensor& images) {
  const torch::NoGradGuard no_grad;
  const torch::Device device = classifier.parameters().front().device();
  classifier.eval();
  std::vector<Tensor> parts;
  for (const Tensor& part : images.split(kBatch))
    parts.push_back(classifier.forward(part.to(device)));
  return torch::cat(parts);
}

Tensor shuffled(std::int64_t count, std::uint64_t seed) {
  return torch::randperm(count, at::make_generator<at::CPUGeneratorImpl>(seed), at::kLong);
}

}  // namespace

LabelledImages to_tensors(const data::Dataset& data) {
  const std::vector<std::int64_t> sizes{data.count(), data.shape.channels, data.shape.height,
                                        data.shape.width};
  Tensor images;
  if (const auto* bytes = std::get_if<data::PixelBytes>(&data.pixels))
    images = torch::tensor(at::ArrayRef<std::uint8_t>(bytes->data(), bytes->size()))
                 .to(at::kFloat)
                 .div_(255);
  else
    images = torch::tensor(at::ArrayRef<float>(std::get<std::vector<float>>(data.pixels)));
  return {images.view(sizes), torch::tensor(at::ArrayRef<std::int32_t>(data.labels)).to(at::kLong)};
}

LabelledImages rows_of(const LabelledImages& data, const Tensor& indices) {
  return {data.images.index_select(0, indices), data.labels.index_select(0, indices)};
}

LabelledImages some_of(const LabelledImages& data, std::int64_t count, std::uint64_t seed) {
  const Tensor order = shuffled(data.labels.size(0), seed).slice(0, 0, count);
  return rows_of(data, order.to(data.labels.device()));
}

std::vector<double> TestResult::per_class() const {
  const Tensor counts = confusion.to(torch::kDouble);
  const Tensor shares = (counts.diagonal() / counts.sum(1)).contiguous();
  return {shares.data_ptr<double>(), shares.data_ptr<double>() + shares.numel()};
}

double TestResult::balanced_accuracy() const {
  double sum = 0;
  double count = 0;
  for (const double share : per_class()) {
    if (std::isnan(share)) continue;
    sum += share;
    ++count;
  }
  return sum / count;
}

ClassifierScore summary(const std::string& classifier, const std::vector<TestResult>& results) {
  ClassifierScore score;
  score.classifier = classifier;
  std::vector<double> balanced;
  std::vector<double> areas;
  for (const TestResult& result : results) {
    score.accuracies.push_back(result.accuracy);
    balanced.push_back(result.balanced_accuracy());
    areas.push_back(result.auc);
  }
  const auto set = [](const std::vector<double>& values, auto& mean, auto& deviation) {
    const Spread spread = spread_of(values);
    mean = spread.mean;
    deviation = spread.deviation;
  };
  set(score.accuracies, score.accuracy, score.deviation);
  set(balanced, score.balanced_accuracy, score.balanced_deviation);
  set(areas, score.auc, score.auc_deviation);
  const Tensor counts = results.front().confusion.contiguous();
  const auto* row = counts.data_ptr<std::int64_t>();
  for (std::int64_t k = 0; k < counts.size(0); ++k, row += counts.size(1))
    score.confusion.emplace_back(row, row + counts.size(1));
  score.per_class = results.front().per_class();
  return score;
}

void train(model::Classifier& classifier, const LabelledImages& data,
           const DownstreamOptions& options, const EpochReport& report) {
  const std::int64_t count = data.labels.size(0);
  if (count < 2)
    throw InvalidArgument(violation("the number of images to train on", "at least 2", count));
  classifier.to(options.device);
  if (options.classifier == "logreg")
    return train_logistic(classifier, on_device(data, options.device), report);
  const Tensor order = torch::randperm(count, at::kLong).to(data.labels.device());
  const std::int64_t held = std::max<std::int64_t>(1, count / kHeldOut);
  train_until_it_rests(classifier, on_device(rows_of(data, order.slice(0, held)), options.device),
                       on_device(rows_of(data, order.slice(0, 0, held)), options.device), options,
                       report);
}

Tensor predict(model::Classifier& classifier, const Tensor& images) {
  return logits_of(classifier, images).argmax(1);
}

TestResult test(model::Classifier& classifier, const LabelledImages& data,
                std::int64_t num_classes) {
  check_classes(data, "real", num_classes);
  const Tensor logits = logits_of(classifier, data.images).cpu();
  const Tensor labels = data.labels.cpu();
  const Tensor cells = labels * num_classes + logits.argmax(1);
  const Tensor confusion =
      torch::bincount(cells, {}, num_classes * num_classes).view({num_classes, num_classes});
  return {confusion.trace().item<double>() / static_cast<double>(data.labels.size(0)), confusion,
          macro_area_under_roc(logits, labels)};
}

std::shared_ptr<model::Classifier> train_classifier(const LabelledImages& data,
                                                    const DownstreamOptions& options,
                                                    const EpochReport& report) {
  check(data, "synthetic");
  const std::int64_t num_classes =
      options.num_classes > 0 ? options.num_classes : data.labels.max().item<std::int64_t>() + 1;
  check_classes(data, "synthetic", num_classes);
  if (data.labels.min().equal(data.labels.max()))
    throw InvalidArgument(violation("the synthetic labels", "of two classes or more",
                                    fmt::format("{} alone", data.labels[0].item<std::int64_t>())));
  torch::manual_seed(options.seed);
  auto classifier = model::make_classifier(options.classifier, shape_of(data), num_classes);
  train(*classifier, data, options, report);
  return classifier;
}

TestResult train_and_test(const LabelledImages& synthetic, const LabelledImages& real,
                          const DownstreamOptions& options, const EpochReport& report) {
  check(synthetic, "synthetic");
  check(real, "real");
  if (real.images.sizes().slice(1) != synthetic.images.sizes().slice(1))
    throw InvalidArgument(violation("the size of real images",
                                    to_string(shape_of(synthetic)) + " as the synthetic ones",
                                    to_string(shape_of(real))));
  DownstreamOptions with_classes = options;
  if (options.num_classes == 0)
    with_classes.num_classes = 1 + std::max(synthetic.labels.max().item<std::int64_t>(),
                                            real.labels.max().item<std::int64_t>());
  const auto classifier = train_classifier(synthetic, with_classes, report);
  return test(*classifier, real, with_classes.num_classes);
}

}  // namespace obol::evaluate
