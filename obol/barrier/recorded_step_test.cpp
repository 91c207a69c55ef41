#include "obol/barrier/recorded_step.h"

#include <vector>

#include <gtest/gtest.h>

#include "obol/testing/gpu.h"

namespace obol::barrier {
namespace {

using torch::Tensor;

TEST(RecordedStep, OnAProcessorIsACallOfItsBody) {
  RecordedStep step(torch::kCPU);
  int calls = 0;
  for (int k = 0; k < 10; ++k) step.run([&] { ++calls; });
  EXPECT_EQ(calls, 10);
}

TEST(RecordedStepGpu, IsReplayedWithNewRandomNumbers) {
  OBOL_NEEDS_GPU();
  const torch::Device device(torch::kCUDA, 0);
  const WorkStream stream(device);
  RecordedStep step(device);
  const auto options = torch::TensorOptions(device);
  const Tensor sum = torch::zeros({}, options);
  const Tensor last = torch::zeros({4}, options);
  int calls = 0;
  std::vector<Tensor> seen;
  for (int k = 0; k < 10; ++k) {
    step.run([&] {
      ++calls;
      sum.add_(1);
      last.copy_(torch::rand({4}, options));
    });
    seen.push_back(last.clone());
  }
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(sum.item<double>(), 10);
  for (std::size_t a = 0; a < seen.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) EXPECT_FALSE(seen[a].equal(seen[b])) << a << ' ' << b;
  step.forget();
  step.run([&] { ++calls; });
  EXPECT_EQ(calls, 5);
}

}  // namespace
}  // namespace obol::barrier
