#include "obol/model/script.h"

#include <fstream>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <torch/script.h>

#include "obol/base/error.h"

namespace obol::model {
namespace {

using torch::Tensor;

// Statistics that are neither 0 nor 1.
std::shared_ptr<Generator> trained_generator(const GeneratorOptions& options,
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

struct Make {
  GeneratorOptions options;
  data::ImageShape shape;
  std::int64_t num_classes;
};
const std::vector<Make> kMakes = {
    {{.width = 4, .latent = 6}, {1, 28, 28}, 10},
    {{.width = 3, .latent = 5, .activation = "relu", .output = "tanh"}, {3, 32, 32}, 1},
    {{.architecture = "biggan", .width = 2, .latent = 5}, {3, 32, 32}, 3},
    {{.architecture = "biggan", .width = 2, .latent = 5, .output = "tanh"}, {1, 32, 32}, 0},
    {{.architecture = "resnet", .width = 2, .latent = 5}, {1, 28, 28}, 10},
    {{.architecture = "resnet", .width = 2, .latent = 5, .output = "tanh"}, {3, 32, 32}, 1},
};

class GeneratorFile : public ::testing::Test {
 protected:
  [[nodiscard]] Path path() const { return folder_.path() / "generator.pt"; }

  std::string refusal() const {
    try {
      load_generator(path());
    } catch (const DataError& error) {
      return error.what();
    }
    return "accepted";
  }

  // A file that differs from one of ours by what `change` does to it.
  std::string refusal_after(const std::function<void(torch::jit::Module&)>& change) const {
    save_generator(*trained_generator(kMakes[0].options, kMakes[0].shape, 10), path());
    torch::jit::Module script = torch::jit::load(path().string());
    change(script);
    script.save(path().string());
    return refusal();
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(GeneratorFile, ComputesTheSameImagesInTorchScriptAndWhenReadBack) {
  for (const Make& make : kMakes) {
    const auto generator = trained_generator(make.options, make.shape, make.num_classes);
    save_generator(*generator, path());
    SeededBits bits(3);
    const Tensor z = generator->latents(7, bits);
    const torch::NoGradGuard no_grad;
    const Tensor labels = generator->is_conditional()
                              ? at::arange(7, at::kLong).remainder(make.num_classes)
                              : Tensor();
    const Tensor images = generator->forward(z, labels);

    torch::jit::Module script = torch::jit::load(path().string());
    const c10::IValue none;
    const std::vector<c10::IValue> inputs{z, labels.defined() ? c10::IValue(labels) : none};
    EXPECT_LT((script.forward(inputs).toTensor() - images).abs().max().item<double>(), 1e-5);
    EXPECT_EQ(script.attr("latent").toInt(), make.options.latent);

    const auto again = load_generator(path());
    EXPECT_TRUE(at::equal(again->forward(z, labels), images));
    EXPECT_EQ(again->options().output, make.options.output);
    EXPECT_EQ(again->shape(), make.shape);
    EXPECT_EQ(again->num_classes(), make.num_classes);
  }
}

TEST_F(GeneratorFile, SaysNothingOfHowItWasComputed) {
  const auto generator = trained_generator(kMakes[0].options, kMakes[0].shape, 10);
  save_generator(*generator, path());
  const torch::jit::Module plain = torch::jit::load(path().string());
  EXPECT_FALSE(plain.hasattr("precision"));
  if (torch::cuda::is_available()) generator->place(torch::kCUDA);
  auto weights = generator->parameters();
  for (Tensor& weight : weights)
    if (weight.dim() == 4)
      weight.set_data(weight.detach().contiguous(at::MemoryFormat::ChannelsLast));
  save_generator(*generator, path());
  const torch::jit::Module placed = torch::jit::load(path().string());
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

TEST_F(GeneratorFile, IsRefusedWhenItIsNone) {
  std::ofstream(path()) << "not a zip file";
  EXPECT_NE(refusal().find("a generator must be a TorchScript file that Obol wrote"),
            std::string::npos);
}

TEST_F(GeneratorFile, IsRefusedWhenCutShort) {
  save_generator(*trained_generator(kMakes[0].options, kMakes[0].shape, 10), path());
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) / 2);
  EXPECT_NE(refusal(), "accepted");
}

TEST_F(GeneratorFile, IsRefusedWhenMissing) { EXPECT_NE(refusal(), "accepted"); }

TEST_F(GeneratorFile, IsRefusedWhenItsOptionsAndTensorsDisagree) {
  EXPECT_EQ(refusal_after([](torch::jit::Module&) {}), "accepted");
  EXPECT_NE(
      refusal_after([](torch::jit::Module& script) {
        script.setattr("width", std::int64_t{5});
      }).find("the tensor conv1.weight must be Float [10, 20, 7, 7], but is Float [10, 16, 7, 7]"),
      std::string::npos);
  EXPECT_NE(refusal_after([](torch::jit::Module& script) {
              script.setattr("architecture", std::string("biggan"));
            }).find("32x32"),
            std::string::npos);
  EXPECT_NE(refusal_after([](torch::jit::Module& script) {
              script.setattr("latent", std::int64_t{1} << 40);
            }).find("latent must be"),
            std::string::npos);
  EXPECT_NE(refusal_after([](torch::jit::Module& script) {
              script.register_buffer("more", torch::zeros({1}));
            }).find("the number of tensors must be"),
            std::string::npos);
  EXPECT_NE(refusal_after([](torch::jit::Module& script) {
              script.attr("norm1").toModule().setattr("weight", torch::zeros({16}, at::kDouble));
            }).find("the tensor norm1.weight must be Float [16], but is Double [16]"),
            std::string::npos);
}

TEST_F(GeneratorFile, IsRefusedWhenItIsAnotherModule) {
  torch::jit::Module script("Other");
  script.define("def forward(self, x: Tensor) -> Tensor:\n  return x\n");
  script.save(path().string());
  EXPECT_NE(refusal(), "accepted");
}

TEST_F(GeneratorFile, IsRefusedWhenReadingItWouldRunCode) {
  EXPECT_NE(refusal_after([](torch::jit::Module& script) {
              script.define("def __getstate__(self) -> int:\n  return 1\n");
              script.define("def __setstate__(self, state: int) -> None:\n  print(state)\n");
            }).find("free of code that runs"),
            std::string::npos);
}

}  // namespace
}  // namespace obol::model
