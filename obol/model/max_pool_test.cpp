#include "obol/model/max_pool.h"

#include <vector>

#include <gtest/gtest.h>

namespace obol::model {
namespace {

using torch::Tensor;

TEST(MaxPoolRelu, HasTheValuesAndGradientsOfTorch) {
  torch::manual_seed(0);
  for (const auto& sizes : std::vector<std::vector<std::int64_t>>{
           {3, 32, 8, 6}, {2, 5, 7, 9}, {1, 1, 2, 2}, {40, 3, 28, 28}, {0, 2, 4, 4}}) {
    for (const at::ScalarType type : {at::kFloat, at::kDouble}) {
      const Tensor expected_x = torch::randn(sizes, type).requires_grad_();
      const Tensor x = expected_x.detach().clone().requires_grad_();
      const Tensor expected = at::relu(at::max_pool2d(expected_x, 2));
      const Tensor y = max_pool_relu(x);
      EXPECT_TRUE(at::equal(expected, y));
      const Tensor gradient = torch::randn_like(expected);
      expected.backward(gradient);
      y.backward(gradient);
      EXPECT_TRUE(at::equal(expected_x.grad(), x.grad()));
    }
  }
}

TEST(MaxPoolRelu, GivesTheGradientToOneOfEquals) {
  const Tensor x = torch::ones({1, 3, 2, 2}).requires_grad_();
  max_pool_relu(x).sum().backward();
  EXPECT_EQ(x.grad().sum().item<float>(), 3);
}

}  // namespace
}  // namespace obol::model
