#include "obol/model/classifier.h"

#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::model {
namespace {

using torch::Tensor;

std::int64_t weights_of(const Classifier& classifier) {
  std::int64_t count = 0;
  for (const Tensor& parameter : classifier.parameters()) count += parameter.numel();
  return count;
}

TEST(Classifier, HasTheLayersOfTheProtocol) {
  EXPECT_EQ(weights_of(*make_classifier("logreg", {1, 28, 28}, 10)), 784 * 10 + 10);
  EXPECT_EQ(weights_of(*make_classifier("mlp", {1, 28, 28}, 10)), 78500 + 1010);
  EXPECT_EQ(weights_of(*make_classifier("cnn", {1, 28, 28}, 10)),
            (9 + 1) * 32 + (32 * 9 + 1) * 64 + (64 * 49 + 1) * 10);
}

TEST(Classifier, TakesAnyShape) {
  for (const std::string kind : {"logreg", "mlp", "cnn"})
    EXPECT_EQ(make_classifier(kind, {3, 9, 14}, 4)->forward(torch::rand({5, 3, 9, 14})).sizes(),
              (std::vector<std::int64_t>{5, 4}));
}

TEST(Classifier, DropsOutOnlyInTraining) {
  auto cnn = make_classifier("cnn", {1, 8, 8}, 2);
  const Tensor images = torch::rand({2, 1, 8, 8});
  EXPECT_FALSE(at::equal(cnn->forward(images), cnn->forward(images)));
  cnn->eval();
  EXPECT_TRUE(at::equal(cnn->forward(images), cnn->forward(images)));
}

TEST(Classifier, RefusesWhatItIsNot) {
  EXPECT_THROW(make_classifier("svm", {1, 8, 8}, 2), InvalidArgument);
  EXPECT_THROW(make_classifier("cnn", {1, 3, 8}, 2), InvalidArgument);
  EXPECT_THROW(make_classifier("mlp", {1, 8, 8}, 1), InvalidArgument);
}

}  // namespace
}  // namespace obol::model
