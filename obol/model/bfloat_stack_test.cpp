#include "obol/model/bfloat_stack.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace obol::model {
namespace {

using torch::Tensor;

// Whole numbers that bfloat16 and float hold exactly: every result is then exact.
Tensor few(const std::vector<std::int64_t>& sizes) {
  return (torch::rand(sizes) * 3).floor() - 1;  // -1, 0 and 1
}

struct StackCase {
  std::int64_t inputs;
  std::vector<std::int64_t> channels;  // of each layer's result
  std::int64_t first_kernel;
  bool doubles_last;
};
// Channels that fill a register's lanes and such that do not, one hidden layer and two.
const std::vector<StackCase> kStackCases = {{5, {32, 8, 1}, 7, false},
                                            {3, {9, 16, 3}, 4, true},
                                            {2, {6, 64, 2}, 1, false},
                                            {4, {128, 1}, 3, false},
                                            {3, {2, 5, 7, 1}, 2, true}};

std::vector<BfloatLayer> layers_of(const StackCase& example) {
  std::vector<BfloatLayer> layers;
  std::int64_t in = example.inputs;
  for (std::size_t k = 0; k < example.channels.size(); ++k) {
    const std::int64_t out = example.channels[k];
    const bool is_last = k + 1 == example.channels.size();
    if (k == 0)
      layers.push_back({few({in, out, example.first_kernel, example.first_kernel}), few({out})});
    else if (is_last && !example.doubles_last)
      layers.push_back({few({in, out, 3, 3}), few({out}), 1, 1});
    else
      layers.push_back({few({in, out, 4, 4}), few({out}), 2, 1});
    in = out;
  }
  return layers;
}

Tensor by_torch(const std::vector<BfloatLayer>& layers, const Tensor& x) {
  Tensor y = x.unsqueeze(-1).unsqueeze(-1);
  for (std::size_t k = 0; k < layers.size(); ++k) {
    y = at::conv_transpose2d(y, layers[k].weight, layers[k].shift, layers[k].stride,
                             layers[k].padding);
    if (k + 1 < layers.size()) y = at::leaky_relu(y, layers[k].slope);
  }
  return y;
}

TEST(BfloatStack, HasTheValuesOfTorchWhereBothAreExact) {
  if (!has_bfloat_products()) GTEST_SKIP() << "needs a processor with products of bfloat16";
  torch::manual_seed(0);
  for (const StackCase& example : kStackCases) {
    const std::vector<BfloatLayer> layers = layers_of(example);
    const BfloatStack stack(layers);
    for (const std::int64_t images : {0, 1, 6, 20}) {
      const Tensor x = few({images, example.inputs});
      const Tensor expected = by_torch(layers, x);
      const Tensor found = stack.forward(x);
      ASSERT_EQ(found.sizes(), expected.sizes());
      EXPECT_TRUE(at::equal(found, expected)) << images << " images of " << expected.sizes();
    }
  }
}

TEST(BfloatStack, RectifiesWithTheSlope) {
  if (!has_bfloat_products()) GTEST_SKIP() << "needs a processor with products of bfloat16";
  const Tensor one = torch::ones({1, 1, 1, 1});
  const Tensor zero = torch::zeros({1});
  const BfloatStack stack({{one, zero, 1, 0, 0.25}, {torch::ones({1, 1, 3, 3}), zero, 1, 1}});
  const Tensor found = stack.forward(torch::tensor({{8.0F}, {-8.0F}}));
  EXPECT_TRUE(at::equal(found.flatten(), torch::tensor({8.0F, -2.0F})));
}

}  // namespace
}  // namespace obol::model
