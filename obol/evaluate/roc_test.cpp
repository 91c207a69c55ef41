#include "obol/evaluate/roc.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace obol::evaluate {
namespace {

using torch::Tensor;

double area(const std::vector<float>& positive, const std::vector<float>& negative) {
  const auto tensor = [](const std::vector<float>& values) {
    return torch::tensor(at::ArrayRef<float>(values), torch::kFloat);
  };
  const Tensor scores = torch::cat({tensor(positive), tensor(negative)});
  const auto positives = static_cast<std::int64_t>(positive.size());
  return area_under_roc(scores, at::arange(scores.size(0)).lt(positives));
}

TEST(AreaUnderRoc, IsTheShareOfPairsInTheRightOrder) {
  EXPECT_DOUBLE_EQ(area({2, 3}, {0, 1}), 1);
  EXPECT_DOUBLE_EQ(area({0, 1}, {2, 3}), 0);
  EXPECT_DOUBLE_EQ(area({1, 3}, {0, 2}), 0.75);
  EXPECT_DOUBLE_EQ(area({5}, {1, 2, 3, 9}), 0.75);
}

TEST(AreaUnderRoc, CountsTiesHalf) {
  EXPECT_DOUBLE_EQ(area({1, 1, 1}, {1, 1}), 0.5);
  EXPECT_DOUBLE_EQ(area({1, 2}, {1, 0}), (0.5 + 1 + 1 + 1) / 4);
}

TEST(AreaUnderRoc, IsNotANumberWithoutBothKinds) {
  EXPECT_TRUE(std::isnan(area({}, {1, 2})));
  EXPECT_TRUE(std::isnan(area({1, 2}, {})));
}

// Scores of positive images are normal with mean 1, of negative ones with mean 0: the area is
// Phi(1 / sqrt 2) = 0.760250.
TEST(AreaUnderRoc, OfTwoGaussiansIsKnown) {
  torch::manual_seed(1);
  const Tensor scores = torch::cat({torch::randn({40000}) + 1, torch::randn({10000})});
  // The standard error is 0.003: off by five of them once in a million.
  EXPECT_NEAR(area_under_roc(scores, at::arange(50000).lt(40000)), 0.760250, 0.015);
}

TEST(MacroAreaUnderRoc, OfTwoClassesIsTheAreaOfEither) {
  torch::manual_seed(2);
  const Tensor logits = torch::randn({200, 2});
  const Tensor labels = torch::randint(2, {200}, at::kLong);
  const Tensor scores = logits.select(1, 1) - logits.select(1, 0);
  EXPECT_DOUBLE_EQ(macro_area_under_roc(logits, labels),
                   area_under_roc(scores.to(torch::kDouble), labels.eq(1)));
}

// Class 0 is found; class 1 is taken for class 2, and class 2 for class 1.
TEST(MacroAreaUnderRoc, IsTheMeanOfClassesAgainstTheRest) {
  const Tensor logits = torch::tensor({{9.0F, 0.0F, 0.0F}, {0.0F, 0.0F, 5.0F}, {0.0F, 5.0F, 0.0F}});
  const Tensor labels = torch::tensor({0, 1, 2}, at::kLong);
  // Of class 1 the image has log odds -log(1 + e^5): above that of class 0, below that of class 2.
  EXPECT_DOUBLE_EQ(macro_area_under_roc(logits, labels), (1 + 0.5 + 0.5) / 3);
}

TEST(MacroAreaUnderRoc, LeavesOutClassesThatAreNotThere) {
  const Tensor logits = torch::tensor({{1.0F, 0.0F, 7.0F}, {0.0F, 1.0F, 7.0F}});
  EXPECT_DOUBLE_EQ(macro_area_under_roc(logits, torch::tensor({0, 1}, at::kLong)), 1);
  EXPECT_TRUE(std::isnan(macro_area_under_roc(logits, torch::tensor({0, 0}, at::kLong))));
}

// In double precision both probabilities are 1, and would be a tie.
TEST(MacroAreaUnderRoc, TellsSureAnswersApart) {
  const Tensor logits = torch::tensor({{0.0F, 60.0F}, {0.0F, 50.0F}});
  EXPECT_DOUBLE_EQ(macro_area_under_roc(logits, torch::tensor({1, 0}, at::kLong)), 1);
}

}  // namespace
}  // namespace obol::evaluate
