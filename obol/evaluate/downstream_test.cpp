#include "obol/evaluate/downstream.h"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/evaluate/logistic.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

const std::vector<std::string> kClassifiers{"logreg", "mlp", "cnn"};

// Three classes: a bright block in one of three places, under noise.
LabelledImages blobs(std::int64_t count) {
  const Tensor labels = at::arange(count, at::kLong).remainder(3);
  Tensor images = 0.3 * torch::rand({count, 1, 8, 8});
  for (std::int64_t k = 0; k < count; ++k) {
    const std::int64_t place = k % 3;
    images[k][0].slice(0, 2 * place, 2 * place + 3).slice(1, 2, 6) += 0.7;
  }
  return {images, labels};
}

TEST(TrainAndTest, LearnsWhatCanBeLearned) {
  torch::manual_seed(0);
  const LabelledImages synthetic = blobs(3000);
  const LabelledImages real = blobs(300);
  for (const std::string& classifier : kClassifiers)
    EXPECT_GT(train_and_test(synthetic, real, {.classifier = classifier}).accuracy, 0.97)
        << classifier;
}

TEST(TrainAndTest, FindsNothingInRandomLabels) {
  torch::manual_seed(0);
  const auto scrambled = [](LabelledImages data) {
    data.labels = torch::randint(3, data.labels.sizes(), at::kLong);
    return data;
  };
  const LabelledImages real = scrambled(blobs(900));
  for (const std::string& classifier : kClassifiers) {
    EXPECT_NEAR(train_and_test(blobs(600), real, {.classifier = classifier}).accuracy, 1.0 / 3,
                0.07);
    EXPECT_NEAR(train_and_test(scrambled(blobs(600)), real, {.classifier = classifier}).accuracy,
                1.0 / 3, 0.07);
  }
}

TEST(TrainAndTest, RepeatsWithItsSeed) {
  torch::manual_seed(0);
  LabelledImages synthetic = blobs(600);
  synthetic.images = synthetic.images + torch::rand({600, 1, 8, 8});
  const LabelledImages real = blobs(90);
  std::vector<double> scores[2];
  for (auto& list : scores)
    train_and_test(
        synthetic, real, {.classifier = "cnn", .seed = 5},
        [&](const EpochResult& progress) { list.push_back(progress.held_out_accuracy.value()); });
  EXPECT_EQ(scores[0], scores[1]);
}

TEST(TrainAndTest, StopsByItsPatience) {
  torch::manual_seed(0);
  const LabelledImages synthetic = blobs(3000);
  const LabelledImages real = blobs(30);
  const auto epochs = [&](Protocol protocol) {
    std::int64_t last = 0;
    std::int64_t best_epoch = 0;
    double best = -1;
    train_and_test(synthetic, real, {.classifier = "mlp", .protocol = protocol},
                   [&](const EpochResult& progress) {
                     last = progress.epoch;
                     if (progress.held_out_accuracy.value() <= best) return;
                     best = progress.held_out_accuracy.value();
                     best_epoch = last;
                   });
    return std::pair{best_epoch, last};
  };
  const auto [quick_best, quick_last] = epochs(Protocol::kQuick);
  EXPECT_EQ(quick_last, std::min<std::int64_t>(12, quick_best + 3));
  const auto [paper_best, paper_last] = epochs(Protocol::kPaper);
  EXPECT_EQ(paper_last, paper_best + 30);
}

// Which half of the images is held out by chance has no part in it.
TEST(TrainAndTest, TrainsLogisticRegressionOnAllImagesWhateverTheSeed) {
  torch::manual_seed(0);
  LabelledImages synthetic = blobs(120);
  synthetic.images = synthetic.images + torch::rand({120, 1, 8, 8});
  const auto weights = [&](std::uint64_t seed) {
    return train_classifier(synthetic, {.classifier = "logreg", .seed = seed})->parameters()[0];
  };
  EXPECT_TRUE(weights(1).allclose(weights(2), 0, 1e-6));
  EXPECT_TRUE(weights(1).allclose(
      fit_logistic(synthetic.images, synthetic.labels, 3).weights.to(torch::kFloat), 0, 1e-6));
}

TEST(TrainAndTest, RefusesWhatDoesNotFit) {
  const LabelledImages good = blobs(30);
  const auto refuses = [&](const LabelledImages& synthetic, const LabelledImages& real) {
    EXPECT_THROW(train_and_test(synthetic, real, {.classifier = "logreg"}), InvalidArgument);
  };
  refuses({good.images, good.labels.slice(0, 1)}, good);
  refuses(good, {good.images.slice(2, 1), good.labels});
  refuses({good.images, good.labels.to(at::kInt)}, good);
  refuses({good.images.to(at::kDouble), good.labels}, good);
  refuses({good.images, good.labels - 1}, good);
  refuses({}, good);
  refuses({good.images.slice(0, 0, 0), good.labels.slice(0, 0, 0)}, good);
  refuses({good.images, torch::ones_like(good.labels)}, good);
  EXPECT_THROW(train_and_test(good, good, {.classifier = "logreg", .num_classes = 2}),
               InvalidArgument);
}

TEST(TrainAndTest, CountsWhatWasTakenForWhat) {
  torch::manual_seed(0);
  LabelledImages real = blobs(300);
  // Every image of class 2 is one of class 0, and so it will be taken for one.
  real.images.slice(0, 2, 300, 3).copy_(real.images.slice(0, 0, 300, 3));
  const TestResult result =
      train_and_test(blobs(3000), real, {.classifier = "logreg", .num_classes = 4});
  ASSERT_EQ(result.confusion.sizes(), (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(result.confusion.sum().item<std::int64_t>(), 300);
  EXPECT_GT(result.confusion[2][0].item<std::int64_t>(), 95);
  EXPECT_NEAR(result.accuracy, 2.0 / 3, 0.02);
  const std::vector<double> per_class = result.per_class();
  EXPECT_GT(per_class[0], 0.95);
  EXPECT_LT(per_class[2], 0.05);
  EXPECT_TRUE(std::isnan(per_class[3]));
  EXPECT_DOUBLE_EQ(result.balanced_accuracy(), (per_class[0] + per_class[1] + per_class[2]) / 3);
}

// Takes everything for class 0, of which there is most.
class AlwaysFirst final : public model::Classifier {
 public:
  AlwaysFirst() { register_parameter("none", torch::zeros({1})); }
  Tensor forward(const Tensor& images) override {
    return torch::tensor({1.0F, 0.0F}).expand({images.size(0), 2});
  }
};

TEST(Test, DoesNotMistakeTheFrequentClassForSkill) {
  const LabelledImages data{torch::zeros({10, 1, 2, 2}),
                            at::arange(10, at::kLong).ge(9).to(at::kLong)};
  AlwaysFirst classifier;
  const TestResult result = test(classifier, data, 2);
  EXPECT_DOUBLE_EQ(result.accuracy, 0.9);
  EXPECT_DOUBLE_EQ(result.balanced_accuracy(), 0.5);
  EXPECT_DOUBLE_EQ(result.auc, 0.5);
}

TEST(Summary, HasMeanAndSpreadOfEachFigure) {
  const auto result = [](double accuracy, std::vector<std::int64_t> counts, double auc) {
    return TestResult{accuracy, torch::tensor(at::ArrayRef<std::int64_t>(counts)).view({2, 2}),
                      auc};
  };
  const ClassifierScore score =
      summary("cnn", {result(0.8, {8, 2, 0, 0}, 0.9), result(0.6, {6, 4, 1, 3}, 0.7)});
  EXPECT_DOUBLE_EQ(*score.accuracy, 0.7);
  EXPECT_DOUBLE_EQ(*score.deviation, std::sqrt(0.02));
  EXPECT_DOUBLE_EQ(*score.balanced_accuracy, (0.8 + (0.6 + 0.75) / 2) / 2);
  EXPECT_DOUBLE_EQ(*score.auc, 0.8);
  EXPECT_DOUBLE_EQ(*score.auc_deviation, std::sqrt(0.02));
  EXPECT_EQ(score.confusion, (std::vector<std::vector<std::int64_t>>{{8, 2}, {0, 0}}));
}

TEST(SomeOf, IsADrawWithoutReplacementThatRepeats) {
  const Tensor numbers = at::arange(20, at::kLong);
  const LabelledImages data{numbers.to(at::kFloat).view({20, 1, 1, 1}), numbers};
  const LabelledImages some = some_of(data, 12, 3);
  EXPECT_EQ(std::get<0>(at::_unique(some.labels)).size(0), 12);
  EXPECT_TRUE(some.images.flatten().to(at::kLong).equal(some.labels));
  EXPECT_TRUE(some_of(data, 12, 3).labels.equal(some.labels));
  EXPECT_EQ(some_of(data, 100, 3).labels.size(0), 20);
}

TEST(ToTensors, ScalesBytes) {
  const data::Dataset data{.shape = {1, 1, 2},
                           .pixels = std::vector<std::uint8_t>{0, 255, 51, 102},
                           .labels = {1, 0},
                           .class_names = {"a", "b"},
                           .declared_size = 2};
  const LabelledImages tensors = to_tensors(data);
  EXPECT_EQ(tensors.images.sizes(), (std::vector<std::int64_t>{2, 1, 1, 2}));
  EXPECT_FLOAT_EQ(tensors.images[1][0][0][0].item<float>(), 0.2F);
  EXPECT_EQ(tensors.labels[0].item<std::int64_t>(), 1);
}

}  // namespace
}  // namespace obol::evaluate
