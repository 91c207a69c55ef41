#include "obol/method/dp_sinkhorn/options.h"

#include <gtest/gtest.h>

namespace obol::method::dp_sinkhorn {
namespace {

TEST(LearningRate, RisesThenFallsByACosine) {
  OptimizerOptions options;
  options.learning_rate = 2e-3;
  EXPECT_EQ(learning_rate_at(options, 1, 100), 2e-3);
  options.warmup = 20;
  options.decay = "cosine";
  options.final_rate = 0.05;
  EXPECT_NEAR(learning_rate_at(options, 1, 1000), 2e-3 / 20, 1e-12);
  EXPECT_NEAR(learning_rate_at(options, 501, 1000), 2e-3 * (0.05 + 0.95 / 2), 1e-12);
  EXPECT_NEAR(learning_rate_at(options, 1000, 1000), 2e-3 * 0.05, 1e-8);
}

TEST(SelfWeight, RisesOverAShareOfTheSteps) {
  MethodOptions options;
  options.self_weight_start = 0.5;
  options.self_weight = 1;
  options.self_weight_rise = 0.7;
  EXPECT_EQ(self_weight_at(options, 1, 1000), 0.5);
  EXPECT_NEAR(self_weight_at(options, 351, 1000), 0.75, 1e-12);
  EXPECT_EQ(self_weight_at(options, 900, 1000), 1);
  options.self_weight_rise = 0;
  EXPECT_EQ(self_weight_at(options, 1, 1000), 1);
}

}  // namespace
}  // namespace obol::method::dp_sinkhorn
