#include "obol/model/dropout.h"

#include <cmath>

#include <gtest/gtest.h>

namespace obol::model {
namespace {

using torch::Tensor;

TEST(DropHalf, KeepsHalfOfTheNumbersAndDoublesThem) {
  torch::manual_seed(1);
  const Tensor x = torch::rand({7, 5, 60, 50}) + 0.5;
  const Tensor y = drop_half(x);
  const Tensor is_kept = y != 0;
  EXPECT_TRUE(torch::equal(y.masked_select(is_kept), 2 * x.masked_select(is_kept)));
  // 105,000 bits: 5 standard deviations, a false alarm in 10^6.
  EXPECT_NEAR(is_kept.to(torch::kDouble).mean().item<double>(), 0.5, 5 * 0.5 / std::sqrt(105000.0));
  EXPECT_FALSE(torch::equal(drop_half(x), y));
}

TEST(DropHalf, GivesGradientsToWhatItKept) {
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const Tensor x = (torch::rand({3, 4, 5, 7}, torch::kDouble) + 0.5).contiguous(format);
    const Tensor leaf = x.detach().clone().requires_grad_();
    const Tensor y = drop_half(leaf);
    const Tensor gradient = torch::randn({3, 4, 5, 7}, torch::kDouble);  // of another layout
    y.backward(gradient);
    EXPECT_TRUE(torch::allclose(leaf.grad(), gradient * y.detach() / x));
  }
}

TEST(DropHalf, TakesAnyNumberOfNumbers) {
  for (const std::int64_t n : {0, 1, 31, 32, 33, 64, 65})
    EXPECT_EQ(drop_half(torch::ones({n})).numel(), n);
}

}  // namespace
}  // namespace obol::model
