#include "obol/model/spectral.h"

#include <gtest/gtest.h>

namespace obol::model {
namespace {

using torch::Tensor;

TEST(Spectral, DividesByTheLargestSingularValue) {
  torch::manual_seed(0);
  Spectral layer(SpectralOptions{.in = 6, .out = 9, .with_bias = false});
  {
    const torch::NoGradGuard no_grad;
    layer->weight.copy_(5 * torch::randn({9, 6}));
  }
  const Tensor x = torch::randn({3, 6});
  for (int step = 0; step < 200; ++step) layer->forward(x);
  const double largest = layer->weight.norm(2).item<double>();  // only an upper bound
  const Tensor whole = layer->forward(torch::eye(6));
  EXPECT_NEAR(at::linalg_matrix_norm(whole, 2).item<double>(), 1, 1e-4);
  EXPECT_GT(largest, 1);
}

TEST(Spectral, KeepsItsVectorsInEvaluation) {
  torch::manual_seed(0);
  Spectral layer(SpectralOptions{.in = 3, .out = 4, .kernel = 3});
  layer->eval();
  const Tensor before = layer->left.clone();
  EXPECT_EQ(layer->forward(torch::randn({2, 3, 5, 5})).sizes(), at::IntArrayRef({2, 4, 5, 5}));
  EXPECT_TRUE(at::equal(before, layer->left));
}

TEST(Spectral, TakesGradientsAfterFurtherSteps) {
  torch::manual_seed(0);
  Spectral layer(SpectralOptions{.in = 3, .out = 4});
  const Tensor x = torch::randn({2, 3});
  const Tensor y = layer->forward(x).sum();
  layer->forward(x);
  EXPECT_NO_THROW(y.backward());
}

}  // namespace
}  // namespace obol::model
