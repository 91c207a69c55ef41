#include "obol/model/generator.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/recipe/recipe.h"
#include "obol/testing/gpu.h"

namespace obol::model {
namespace {

using torch::Tensor;

constexpr data::ImageShape kMnist{1, 28, 28};
constexpr data::ImageShape kColour{3, 32, 32};

std::int64_t weights_of(const Generator& generator) {
  std::int64_t count = 0;
  for (const Tensor& parameter : generator.parameters()) count += parameter.numel();
  return count;
}

std::string refusal_of(const GeneratorOptions& options, const data::ImageShape& shape,
                       std::int64_t num_classes = 10) {
  try {
    make_generator(options, shape, num_classes);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Generator, MakesImagesOfItsShapeAndRange) {
  for (const std::string architecture : {"dcgan", "biggan", "resnet"}) {
    for (const std::string output : {"sigmoid", "tanh"}) {
      for (const data::ImageShape& shape : {kMnist, kColour}) {
        if (architecture == "biggan" && shape == kMnist) continue;
        auto generator = make_generator(
            {.architecture = architecture, .width = 4, .latent = 5, .output = output}, shape, 3);
        SeededBits bits(1);
        const Tensor images = generator->forward(generator->latents(6, bits),
                                                 torch::tensor({0, 1, 2, 0, 1, 2}, at::kLong));
        EXPECT_EQ(images.sizes(),
                  (std::vector<std::int64_t>{6, shape.channels, shape.height, shape.width}));
        EXPECT_GE(images.min().item<float>(), output == "tanh" ? -1 : 0);
        EXPECT_LE(images.max().item<float>(), 1);
        EXPECT_EQ(images.min().item<float>() < 0, output == "tanh");
      }
    }
  }
}

TEST(Generator, OfDcganHasTheLayersOfThePaper) {
  // 10 x 4, (12 + 4) x 256 x 7 x 7, 256 x 128 x 4 x 4, 128 x 64 x 4 x 4, 64 x 1 x 3 x 3 + 1, and
  // two numbers per normalised channel.
  const auto small = make_generator({}, kMnist, 10);
  EXPECT_EQ(weights_of(*small), 40 + 200704 + 524288 + 131072 + 577 + 2 * (256 + 128 + 64));
  const auto colour = make_generator({.latent = 32}, kColour, 2);
  EXPECT_EQ(weights_of(*colour),
            8 + 36 * 256 * 16 + 524288 + 131072 + 64 * 3 * 16 + 3 + 2 * (256 + 128 + 64));
}

TEST(Generator, ListensToItsLabel) {
  for (const std::string architecture : {"dcgan", "biggan", "resnet"}) {
    torch::manual_seed(1);
    auto generator =
        make_generator({.architecture = architecture, .width = 4, .latent = 5}, kColour, 2);
    generator->eval();
    SeededBits bits(1);
    const Tensor z = generator->latents(1, bits);
    const Tensor zero = generator->forward(z, torch::zeros({1}, at::kLong));
    const Tensor one = generator->forward(z, torch::ones({1}, at::kLong));
    EXPECT_GT((zero - one).abs().max().item<float>(), 1e-5F) << architecture;
  }
}

TEST(Generator, NeedsNoLabelsForOneClass) {
  for (const std::string architecture : {"dcgan", "biggan", "resnet"})
    for (const std::int64_t num_classes : {0, 1}) {
      auto generator = make_generator({.architecture = architecture, .width = 2, .latent = 3},
                                      kColour, num_classes);
      SeededBits bits(1);
      EXPECT_EQ(generator->forward(generator->latents(2, bits), {}).size(0), 2);
    }
}

TEST(Generator, PassesGradientsToAllItsWeights) {
  for (const std::string architecture : {"dcgan", "biggan", "resnet"}) {
    auto generator =
        make_generator({.architecture = architecture, .width = 2, .latent = 3}, kColour, 2);
    SeededBits bits(1);
    const Tensor images =
        generator->forward(generator->latents(4, bits), torch::tensor({0, 1, 0, 1}, at::kLong));
    (images * torch::randn_like(images)).sum().backward();
    for (const auto& item : generator->named_parameters()) {
      ASSERT_TRUE(item.value().grad().defined()) << item.key();
      EXPECT_GT(item.value().grad().abs().max().item<float>(), 0) << item.key();
    }
  }
}

TEST(Generator, RefusesSizesAndNamesThoseItMakes) {
  EXPECT_EQ(refusal_of({}, {1, 30, 30}),
            "the image size for a dcgan generator must be a square whose side is a multiple of 4 "
            "up to 64, such as 28x28 or 32x32, but is 30x30");
  EXPECT_EQ(refusal_of({}, {1, 28, 32}).substr(0, 36), "the image size for a dcgan generator");
  EXPECT_EQ(refusal_of({.architecture = "biggan"}, kMnist),
            "the image size for a biggan generator must be 32x32, but is 28x28");
}

TEST(Generator, RefusesOptionsOutOfTheirLimits) {
  EXPECT_EQ(refusal_of({.architecture = "vae"}, kMnist),
            "architecture must be one of dcgan, biggan, resnet, but is vae");
  EXPECT_EQ(refusal_of({.precision = "half"}, kMnist),
            "precision must be one of auto, float, bfloat16, but is half");
  EXPECT_NE(refusal_of({.width = 0}, kMnist), "accepted");
  EXPECT_NE(refusal_of({.latent = -3}, kMnist), "accepted");
  EXPECT_NE(refusal_of({}, kMnist, -1), "accepted");
}

TEST(Generator, ReadsItsOptionsFromARecipe) {
  auto recipe = recipe::Recipe::parse("[generator]\nwidth = 32\noutput = 'tanh'\n", "a.toml");
  const auto options = recipe.read<GeneratorOptions>("generator");
  recipe.finish();
  EXPECT_EQ(options.width, 32);
  EXPECT_EQ(options.output, "tanh");
}

TEST(Generator, SamplesInEvaluationModeAndInBatches) {
  auto generator = make_generator({.width = 2}, kMnist, 10);
  const Tensor labels = at::arange(230, at::kLong).remainder(10);
  SeededBits bits(1);
  const Tensor images = sample(*generator, labels, bits);
  EXPECT_TRUE(generator->is_training());
  generator->eval();
  SeededBits again(1);
  const Tensor expected = generator->forward(generator->latents(230, again), labels);
  EXPECT_LT((images - expected).abs().max().item<float>(), 1e-5F);
}

// A copy of `generator`'s weights, of the same make but for the precision.
std::shared_ptr<Generator> copy_of(const Generator& generator, const std::string& precision) {
  GeneratorOptions options = generator.options();
  options.precision = precision;
  auto copy = make_generator(options, generator.shape(), generator.num_classes());
  const torch::NoGradGuard no_grad;
  const auto copy_all = [](const std::vector<Tensor>& from, const std::vector<Tensor>& to) {
    for (std::size_t k = 0; k < from.size(); ++k) to[k].copy_(from[k]);
  };
  copy_all(generator.parameters(), copy->parameters());
  copy_all(generator.buffers(), copy->buffers());
  return copy;
}

// The images of a training step, and the gradients of all weights as one vector.
std::pair<Tensor, Tensor> step_of(Generator& generator, const Tensor& z, const Tensor& labels,
                                  const Tensor& gradient) {
  const Tensor like = generator.parameters().front();
  const Tensor images = generator.forward(z.to(like.options()), labels.to(like.device()));
  images.backward(gradient.to(images.options()));
  std::vector<Tensor> parts;
  for (const Tensor& parameter : generator.parameters())
    parts.push_back(parameter.grad().cpu().to(at::kDouble).flatten());
  return {images.detach().cpu().to(at::kDouble), at::cat(parts)};
}

TEST(GeneratorGpu, TrainsNearDoublesInEitherPrecision) {
  OBOL_NEEDS_GPU();
  const bool was_allowed = at::globalContext().allowTF32CuDNN();
  at::globalContext().setAllowTF32CuDNN(false);
  // Rounding moves numbers past zero, where a rectifier's gradient jumps: more of them in more
  // layers.
  const auto least_cosine = [](const Generator& generator) {
    if (generator.options().precision == "float") return 0.9999;
    return generator.options().architecture == "dcgan" ? 0.99 : 0.97;
  };
  for (const std::string architecture : {"dcgan", "biggan", "resnet"})
    for (const data::ImageShape& shape : {kMnist, kColour}) {
      if (architecture == "biggan" && shape == kMnist) continue;
      torch::manual_seed(1);
      const auto exact = make_generator({.architecture = architecture, .width = 16}, shape, 10);
      const auto floats = copy_of(*exact, "float");
      const auto automatic = copy_of(*exact, "auto");
      exact->to(at::kDouble);
      SeededBits bits(1);
      const Tensor z = exact->latents(40, bits);
      const Tensor labels = at::arange(40, at::kLong).remainder(10);
      const Tensor gradient = torch::randn({40, shape.channels, shape.height, shape.width});
      const auto [expected, gradients] = step_of(*exact, z, labels, gradient);
      for (const auto& [generator, error] : {std::pair(floats, 1e-3), std::pair(automatic, 0.1)}) {
        SCOPED_TRACE(architecture + " " + generator->options().precision);
        generator->place(torch::kCUDA);
        const auto [images, found] = step_of(*generator, z, labels, gradient);
        EXPECT_LT((images - expected).abs().max().item<double>(), error);
        EXPECT_GT((at::dot(found, gradients) / found.norm() / gradients.norm()).item<double>(),
                  least_cosine(*generator));
        EXPECT_NEAR((found.norm() / gradients.norm()).item<double>(), 1, 0.02);
        for (std::size_t k = 0; k < exact->buffers().size(); ++k)
          EXPECT_TRUE(at::allclose(generator->buffers()[k].cpu().to(at::kDouble),
                                   exact->buffers()[k].to(at::kDouble), 0.05, 0.02))
              << k;
      }
    }
  at::globalContext().setAllowTF32CuDNN(was_allowed);
}

TEST(GeneratorGpu, KeepsFloatWeightsThatAreLeavesWhereItIsPlaced) {
  OBOL_NEEDS_GPU();
  auto generator = make_generator({.width = 4}, kMnist, 10);
  generator->place(torch::kCUDA);
  for (const auto& item : generator->named_parameters()) {
    EXPECT_TRUE(item.value().is_cuda() && item.value().is_leaf() && item.value().requires_grad());
    EXPECT_EQ(item.value().scalar_type(), at::kFloat) << item.key();
    EXPECT_TRUE(item.value().dim() != 4 ||
                item.value().is_contiguous(at::MemoryFormat::ChannelsLast))
        << item.key();
  }
  SeededBits bits(1);
  const Tensor z = generator->latents(3, torch::kCUDA, bits);
  const Tensor images = generator->forward(z, torch::zeros({3}, at::kLong).to(torch::kCUDA));
  EXPECT_EQ(images.scalar_type(), at::kFloat);
  images.sum().backward();
  for (const auto& item : generator->named_parameters())
    EXPECT_TRUE(item.value().grad().is_contiguous(item.value().suggest_memory_format()))
        << item.key();
}

std::vector<torch::Device> all_devices() {
  std::vector<torch::Device> devices{torch::kCPU};
  if (torch::cuda::is_available()) devices.emplace_back(torch::kCUDA, 0);
  return devices;
}

TEST(Latents, FollowTheirLaw) {
  struct Law {
    std::string name;
    double mean;
    double deviation;
    double fourth;  // central moment
    double lowest;
    double highest;
  };
  constexpr double kFar = 10;
  for (const torch::Device& device : all_devices())
    for (const Law& law :
         {Law{"uniform", 0, std::sqrt(1.0 / 3), 0.2, -1, 1}, Law{"normal", 0, 1, 3, -kFar, kFar},
          Law{"bernoulli", 0.5, 0.5, 0.0625, 0, 1}}) {
      const auto generator = make_generator({.latent = 100, .latent_law = law.name}, kMnist, 10);
      SeededBits bits(7);
      const Tensor z = generator->latents(2000, device, bits);
      ASSERT_EQ(z.sizes(), (std::vector<std::int64_t>{2000, 100}));
      ASSERT_EQ(z.device(), device);
      EXPECT_NEAR(z.mean().item<double>(), law.mean, 0.01) << law.name;
      EXPECT_NEAR(z.std().item<double>(), law.deviation, 0.01) << law.name;
      EXPECT_NEAR((z - law.mean).pow(4).mean().item<double>(), law.fourth, 0.06) << law.name;
      EXPECT_GE(z.min().item<double>(), law.lowest) << law.name;
      EXPECT_LE(z.max().item<double>(), law.highest) << law.name;
    }
}

TEST(Latents, OfASourceBeginAlikeHoweverManyAreWanted) {
  for (const torch::Device& device : all_devices()) {
    const auto generator = make_generator({.width = 2}, kMnist, 10);
    generator->place(device);
    const auto draw = [&](std::uint64_t seed, std::int64_t count) {
      SeededBits bits(seed);
      return LatentSource(*generator, bits, 100).next(count);
    };
    const Tensor some = draw(1, 60);
    EXPECT_EQ(some.device(), device);
    EXPECT_TRUE(at::equal(draw(1, 7), some.narrow(0, 0, 7)));
    EXPECT_FALSE(at::equal(draw(2, 7), some.narrow(0, 0, 7)));
  }
}

TEST(LatentsGpu, OfASourceLeaveTorchsOwnGeneratorAsItWas) {
  OBOL_NEEDS_GPU();
  const auto generator = make_generator({.width = 2}, kMnist, 10);
  generator->place(torch::kCUDA);
  SeededBits bits(1);
  torch::manual_seed(5);
  const Tensor expected = generator->latents(3, torch::kCUDA, bits);
  torch::manual_seed(5);
  static_cast<void>(LatentSource(*generator, bits, 100).next(3));
  EXPECT_TRUE(at::equal(generator->latents(3, torch::kCUDA, bits), expected));
}

TEST(Latents, RepeatWithTheirSeed) {
  const auto generator = make_generator({.width = 1}, kMnist, 10);
  SeededBits first(3);
  SeededBits again(3);
  SeededBits other(4);
  const Tensor z = generator->latents(5, first);
  EXPECT_TRUE(at::equal(z, generator->latents(5, again)));
  EXPECT_FALSE(at::equal(z, generator->latents(5, other)));
}

}  // namespace
}  // namespace obol::model
