#include "obol/model/script.h"

#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <torch/script.h>

#include "obol/base/random.h"

namespace obol::model {
namespace {

using torch::Tensor;

// Statistics that are neither 0 nor 1.
std::shared_ptr<Generator> exported_generator(const GeneratorOptions& options,
                                              const data::ImageShape& shape,
                                              std::int64_t num_classes) {
  torch::manual_seed(1);
  auto generator = make_generator(options, shape, num_classes);
  SeededBits bits(2);
  const Tensor labels = at::arange(20, at::kLong).remainder(num_classes < 2 ? 1 : num_classes);
  generator->forward(generator->latents(20, bits), labels);
  generator->eval();
  return generator;
}

struct Exported {
  GeneratorOptions options;
  data::ImageShape shape;
  std::int64_t num_classes;
};
const std::vector<Exported> kExported = {
    {{.width = 4, .latent = 6}, {1, 28, 28}, 10},
    {{.width = 3, .latent = 5, .activation = "relu", .output = "tanh"}, {3, 32, 32}, 1},
    {{.architecture = "biggan", .width = 2, .latent = 5}, {3, 32, 32}, 3},
    {{.architecture = "biggan", .width = 2, .latent = 5, .output = "tanh"}, {1, 32, 32}, 0},
    {{.architecture = "resnet", .width = 2, .latent = 5}, {1, 28, 28}, 10},
    {{.architecture = "resnet", .width = 2, .latent = 5, .output = "tanh"}, {3, 32, 32}, 1},
};

torch::jit::Module exported(const Generator& generator) {
  std::istringstream bytes(script_bytes(generator));
  return torch::jit::load(bytes);
}

TEST(TorchScript, ComputesTheSameImages) {
  for (const Exported& make : kExported) {
    const auto generator = exported_generator(make.options, make.shape, make.num_classes);
    SeededBits bits(3);
    const Tensor z = generator->latents(7, bits);
    const torch::NoGradGuard no_grad;
    const Tensor labels = generator->is_conditional()
                              ? at::arange(7, at::kLong).remainder(make.num_classes)
                              : Tensor();
    const Tensor images = generator->forward(z, labels);
    torch::jit::Module script = exported(*generator);
    const c10::IValue none;
    const std::vector<c10::IValue> inputs{z, labels.defined() ? c10::IValue(labels) : none};
    EXPECT_LT((script.forward(inputs).toTensor() - images).abs().max().item<double>(), 1e-5);
    EXPECT_EQ(script.attr("latent").toInt(), make.options.latent);
    EXPECT_EQ(script.attr("shape").toIntVector().at(1), make.shape.height);
  }
}

TEST(TorchScript, SaysNothingOfHowItWasComputed) {
  const auto generator = exported_generator(kExported[0].options, kExported[0].shape, 10);
  const torch::jit::Module plain = exported(*generator);
  EXPECT_FALSE(plain.hasattr("precision"));
  if (torch::cuda::is_available()) generator->place(torch::kCUDA);
  auto weights = generator->parameters();
  for (Tensor& weight : weights)
    if (weight.dim() == 4)
      weight.set_data(weight.detach().contiguous(at::MemoryFormat::ChannelsLast));
  const torch::jit::Module placed = exported(*generator);
  const auto expected = plain.named_parameters();
  auto found = placed.named_parameters().begin();
  for (const auto& item : expected) {
    const Tensor value = (*found).value;
    EXPECT_EQ((*found).name, item.name);
    EXPECT_TRUE(value.is_cpu() && value.is_contiguous()) << item.name;
    EXPECT_TRUE(at::equal(value, item.value)) << item.name;
    ++found;
  }
}

}  // namespace
}  // namespace obol::model
