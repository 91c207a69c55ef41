// For tests on a GPU through LibTorch. Their suites end in Gpu, which CTest runs under the label
// `gpu` and leaves out of the tests for CPUs.
//
//   TEST(SampleGpu, IsTheSameWithTheSameSeedOnly) {
//     OBOL_NEEDS_GPU();
#pragma once

#include <gtest/gtest.h>
#include <torch/torch.h>

#define OBOL_NEEDS_GPU() \
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no GPU"
