#include "obol/model/conv_transpose.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "obol/testing/gpu.h"

namespace obol::model {
namespace {

using torch::Tensor;

struct ConvCase {
  ConvTransposeOptions options;
  std::int64_t images;
  std::int64_t height;
  std::int64_t width;
};
// The generators' own layers, and what lies around them: no image, one, more taps than a stride
// and fewer, padding that takes whole pixels away, more than a chunk, few channels at stride 1.
const std::vector<ConvCase> kConvCases = {
    {{.in = 16, .out = 24, .kernel = 7}, 3, 1, 1},
    {{.in = 12, .out = 8, .kernel = 4, .stride = 2, .padding = 1}, 5, 7, 7},
    {{.in = 6, .out = 5, .kernel = 4, .stride = 2, .padding = 1, .with_bias = false}, 2, 3, 9},
    {{.in = 9, .out = 1, .kernel = 3, .stride = 1, .padding = 1}, 4, 28, 28},
    {{.in = 3, .out = 2, .kernel = 2, .stride = 3}, 2, 4, 5},
    {{.in = 3, .out = 2, .kernel = 5, .stride = 3, .padding = 4}, 2, 4, 5},
    {{.in = 4, .out = 64, .kernel = 4, .stride = 2, .padding = 1}, 70, 8, 8},
    {{.in = 2, .out = 3, .kernel = 1}, 1, 1, 1},
    {{.in = 8, .out = 3, .kernel = 5, .stride = 1, .padding = 2}, 3, 6, 9},
    {{.in = 16, .out = 4, .kernel = 4, .with_bias = false}, 2, 5, 3},
    {{.in = 5, .out = 2, .kernel = 3, .stride = 1, .padding = 2}, 2, 4, 5},
    {{.in = 64, .out = 1, .kernel = 3, .stride = 1, .padding = 1}, 70, 28, 28},
    {{.in = 2, .out = 3, .kernel = 4, .stride = 2, .padding = 1}, 0, 4, 4},
};

// The result, and the gradients of x, weight and bias for a random gradient of the result.
template <class Layer>
std::vector<Tensor> results_of(const Layer& layer, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs)
    leaves.push_back(input.defined() ? input.detach().clone().requires_grad_() : input);
  const Tensor y = layer(leaves[0], leaves[1], leaves[2]);
  torch::manual_seed(1);
  y.backward(torch::randn(y.sizes(), y.options()));
  std::vector<Tensor> results{y.detach()};
  for (const Tensor& leaf : leaves) results.push_back(leaf.defined() ? leaf.grad() : Tensor());
  return results;
}

void expect_like_torch(const ConvCase& example, at::ScalarType type, double tolerance) {
  const auto& options = example.options;
  torch::manual_seed(0);
  ConvTranspose layer(options);
  layer->to(type);
  const Tensor x = torch::randn({example.images, options.in, example.height, example.width}, type);
  const std::vector<Tensor> inputs{x, layer->weight, layer->bias};
  const auto expected = results_of(
      [&](const Tensor& input, const Tensor& weight, const Tensor& bias) {
        return at::conv_transpose2d(input, weight, bias, options.stride, options.padding);
      },
      inputs);
  const auto found = results_of(
      [&](const Tensor& input, const Tensor& weight, const Tensor& bias) {
        return conv_transpose(input, weight, bias, options.stride, options.padding);
      },
      inputs);
  for (std::size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(expected[k].defined(), found[k].defined()) << k;
    if (!expected[k].defined()) continue;
    ASSERT_EQ(expected[k].sizes(), found[k].sizes()) << k;
    if (expected[k].numel() == 0) continue;
    const double scale = 1 + expected[k].abs().max().item<double>();
    EXPECT_LE((expected[k] - found[k]).abs().max().item<double>(), tolerance * scale) << k;
  }
}

TEST(ConvTranspose, HasTheValuesAndGradientsOfTorchInDouble) {
  for (const ConvCase& example : kConvCases) expect_like_torch(example, at::kDouble, 1e-10);
}

TEST(ConvTranspose, HasTheValuesAndGradientsOfTorchInFloat) {
  for (const ConvCase& example : kConvCases) expect_like_torch(example, at::kFloat, 1e-4);
}

// Computed in `type` on a GPU, from a float weight, against torch in double on a processor.
void expect_like_double(const ConvCase& example, at::ScalarType type, double tolerance) {
  const auto& options = example.options;
  torch::manual_seed(0);
  ConvTranspose layer(options);
  const Tensor x = torch::randn({example.images, options.in, example.height, example.width})
                       .to(torch::kCUDA, type);
  const Tensor weight = layer->weight.detach().to(torch::kCUDA);
  const Tensor bias = options.with_bias ? layer->bias.detach().to(torch::kCUDA) : Tensor();
  std::vector<Tensor> exact;
  for (const Tensor& tensor : {x, weight, bias})
    exact.push_back(tensor.defined() ? tensor.cpu().to(at::kDouble) : tensor);
  Tensor gradient;
  const auto results = [&](const std::vector<Tensor>& inputs) {
    std::vector<Tensor> leaves;
    for (const Tensor& input : inputs)
      leaves.push_back(input.defined() ? input.detach().clone().requires_grad_() : input);
    const Tensor y =
        conv_transpose(leaves[0], leaves[1], leaves[2], options.stride, options.padding);
    if (!gradient.defined()) gradient = torch::randn_like(y);
    y.backward(gradient.to(y.options()));
    std::vector<Tensor> all{y.detach()};
    for (const Tensor& leaf : leaves) all.push_back(leaf.defined() ? leaf.grad() : Tensor());
    return all;
  };
  const auto found = results({x, weight, bias});
  const auto expected = results(exact);
  for (std::size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(expected[k].defined(), found[k].defined()) << k;
    if (!expected[k].defined()) continue;
    ASSERT_EQ(expected[k].sizes(), found[k].sizes()) << k;
    EXPECT_TRUE(k < 2 || found[k].scalar_type() == at::kFloat) << k;
    if (expected[k].numel() == 0) continue;
    const double scale = 1 + expected[k].abs().max().item<double>();
    const Tensor errors = (expected[k] - found[k].cpu().to(at::kDouble)).abs();
    EXPECT_LE(errors.max().item<double>(), tolerance * scale) << k;
  }
}

TEST(ConvTransposeGpu, HasTheValuesAndGradientsOfDoubles) {
  OBOL_NEEDS_GPU();
  const bool was_allowed = at::globalContext().allowTF32CuDNN();
  at::globalContext().setAllowTF32CuDNN(false);
  for (std::size_t k = 0; k < kConvCases.size(); ++k) {
    SCOPED_TRACE(k);
    expect_like_double(kConvCases[k], at::kFloat, 1e-4);
    expect_like_double(kConvCases[k], at::kBFloat16, 1e-2);
  }
  at::globalContext().setAllowTF32CuDNN(was_allowed);
}

TEST(ConvTranspose, LeavesTheChannelsLast) {
  ConvTranspose layer(
      ConvTransposeOptions{.in = 4, .out = 3, .kernel = 4, .stride = 2, .padding = 1});
  const Tensor y = layer->forward(torch::randn({2, 4, 5, 5}));
  EXPECT_TRUE(y.is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST(ConvTranspose, StartsLikeTorchFromTheSameSeed) {
  torch::manual_seed(3);
  ConvTranspose ours(ConvTransposeOptions{.in = 5, .out = 3, .kernel = 4});
  torch::manual_seed(3);
  torch::nn::ConvTranspose2d theirs(torch::nn::ConvTranspose2dOptions(5, 3, 4));
  EXPECT_TRUE(at::equal(ours->weight, theirs->weight));
  EXPECT_TRUE(at::equal(ours->bias, theirs->bias));
}

}  // namespace
}  // namespace obol::model
