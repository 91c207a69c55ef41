#include "obol/model/average.h"

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::model {
namespace {

using torch::Tensor;

std::shared_ptr<Generator> small_generator(const std::string& architecture = "dcgan") {
  return make_generator({.architecture = architecture, .width = 2, .latent = 3}, {1, 32, 32}, 2);
}

void fill(Generator& generator, double value) {
  const torch::NoGradGuard no_grad;
  for (Tensor& parameter : generator.parameters()) parameter.fill_(value);
}

double first_weight(const Generator& generator) {
  return generator.parameters().front().flatten()[0].item<double>();
}

TEST(WeightAverage, KeepsOneTenthAtFirstAndTheDecayInTheEnd) {
  auto generator = small_generator();
  fill(*generator, 0);
  WeightAverage average(*generator, 0.5);
  auto released = small_generator();
  double expected = 0;
  for (int t = 0; t < 20; ++t) {
    fill(*generator, t + 1);
    average.update(*generator);
    const double keep = std::min(0.5, (t + 1.0) / (t + 10.0));
    expected = keep * expected + (1 - keep) * (t + 1);
  }
  average.copy_to(*released);
  EXPECT_NEAR(first_weight(*released), expected, 1e-4);
  EXPECT_EQ(average.steps(), 20);
}

TEST(WeightAverage, LeavesBuffersToTheWholeState) {
  auto generator = small_generator();
  WeightAverage average(*generator, 0.9);
  {
    const torch::NoGradGuard no_grad;
    generator->buffers().front().fill_(7);
  }
  average.update(*generator);
  auto released = small_generator();
  average.copy_to(*released);
  EXPECT_NE(released->buffers().front().flatten()[0].item<double>(), 7);
  copy_state(*generator, *released);
  EXPECT_EQ(released->buffers().front().flatten()[0].item<double>(), 7);
  EXPECT_EQ(first_weight(*released), first_weight(*generator));
}

TEST(WeightAverage, RefusesADecayOfOne) {
  EXPECT_THROW(WeightAverage(*small_generator(), 1), InvalidArgument);
}

TEST(Statistics, AreThoseOfGeneratedImages) {
  for (const std::string architecture : {"dcgan", "biggan"}) {
    torch::manual_seed(0);
    auto generator = small_generator(architecture);
    SeededBits bits(1);
    {
      const torch::NoGradGuard no_grad;
      for (Tensor& buffer : generator->buffers())
        if (buffer.is_floating_point() && buffer.dim() == 1 && architecture == "dcgan")
          buffer.fill_(100);
    }
    generator->eval();
    recompute_statistics(*generator, 2000, bits);
    EXPECT_FALSE(generator->is_training());
    // In evaluation it now does what training does with a large batch.
    const Tensor z = generator->latents(1000, bits);
    const Tensor labels = at::arange(1000, at::kLong).remainder(2);
    const torch::NoGradGuard no_grad;
    const Tensor evaluated = generator->forward(z, labels);
    generator->train();
    const Tensor trained = generator->forward(z, labels);
    EXPECT_LT((evaluated - trained).abs().mean().item<double>(), 5e-3) << architecture;
  }
}

}  // namespace
}  // namespace obol::model
