#include "obol/model/generator_file.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/model/blueprint.h"
#include "obol/model/script.h"

namespace obol::model {
namespace {

using torch::Tensor;

// Statistics that are neither 0 nor 1.
std::shared_ptr<Generator> trained_generator(const Blueprint& blueprint) {
  torch::manual_seed(1);
  const std::int64_t num_classes = blueprint.num_classes;
  auto generator = make_generator(blueprint.options, blueprint.shape, num_classes);
  SeededBits bits(2);
  const Tensor labels = at::arange(20, at::kLong).remainder(num_classes < 2 ? 1 : num_classes);
  generator->forward(generator->latents(20, bits), labels);
  generator->eval();
  return generator;
}

const std::vector<Blueprint> kMakes = {
    {{.width = 4, .latent = 6}, {1, 28, 28}, 10},
    {{.width = 3, .latent = 5, .activation = "relu", .output = "tanh"}, {3, 32, 32}, 1},
    {{.width = 3, .latent = 5, .latent_law = "normal"}, {2, 64, 64}, 2},
    {{.architecture = "biggan", .width = 2, .latent = 5}, {3, 32, 32}, 3},
    {{.architecture = "biggan", .width = 2, .latent = 5, .output = "tanh"}, {1, 32, 32}, 0},
    {{.architecture = "resnet", .width = 2, .latent = 5}, {1, 28, 28}, 10},
    {{.architecture = "resnet", .width = 2, .latent = 5, .output = "tanh"}, {3, 32, 32}, 1},
};

class GeneratorFile : public ::testing::Test {
 protected:
  [[nodiscard]] Path path() const { return folder_.path() / "generator.safetensors"; }

  [[nodiscard]] std::string refusal() const {
    try {
      load_generator(path());
    } catch (const DataError& error) {
      return error.what();
    }
    return "accepted";
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(GeneratorFile, MakesTheSameImagesWhenReadBack) {
  for (const Blueprint& make : kMakes) {
    const auto generator = trained_generator(make);
    save_generator(*generator, path());
    SeededBits bits(3);
    const Tensor z = generator->latents(7, bits);
    const torch::NoGradGuard no_grad;
    const Tensor labels = generator->is_conditional()
                              ? at::arange(7, at::kLong).remainder(make.num_classes)
                              : Tensor();
    const auto again = load_generator(path());
    EXPECT_FALSE(again->is_training());
    EXPECT_TRUE(at::equal(again->forward(z, labels), generator->forward(z, labels)));
    EXPECT_EQ(again->options().output, make.options.output);
    EXPECT_EQ(again->options().latent_law, make.options.latent_law);
    EXPECT_EQ(again->shape(), make.shape);
    EXPECT_EQ(again->num_classes(), make.num_classes);
    EXPECT_EQ(generator_bytes(*again), generator_bytes(*generator));
  }
}

// The blueprint says without LibTorch what the networks are made of; this is where both meet.
TEST_F(GeneratorFile, HasTheTensorsOfItsBlueprint) {
  for (const Blueprint& make : kMakes) {
    const auto generator = make_generator(make.options, make.shape, make.num_classes);
    std::set<std::string> expected;
    for (const NamedTensor& tensor : tensors_of(make))
      expected.insert(tensor.name + " " + in_words(tensor.type, tensor.shape));
    std::set<std::string> found;
    for (const auto& named : {generator->named_parameters(), generator->named_buffers()})
      for (const auto& item : named)
        found.insert(item.key() + " " +
                     in_words(item.value().scalar_type() == at::kLong ? NumberType::kInt64
                                                                      : NumberType::kFloat32,
                              item.value().sizes().vec()));
    EXPECT_EQ(found, expected) << make.options.architecture;
  }
}

TEST_F(GeneratorFile, SaysNothingOfHowItWasComputed) {
  const auto generator = trained_generator(kMakes[0]);
  const std::string plain = generator_bytes(*generator);
  EXPECT_EQ(plain.find("precision"), std::string::npos);
  if (torch::cuda::is_available()) generator->place(torch::kCUDA);
  auto weights = generator->parameters();
  for (Tensor& weight : weights)
    if (weight.dim() == 4)
      weight.set_data(weight.detach().contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_EQ(generator_bytes(*generator), plain);
}

TEST_F(GeneratorFile, IsRefusedWhenItIsNoneOrCutShortOrMissing) {
  EXPECT_NE(refusal(), "accepted");
  std::ofstream(path()) << "not a generator";
  EXPECT_NE(refusal().find("in the layout of safetensors"), std::string::npos) << refusal();
  save_generator(*trained_generator(kMakes[0]), path());
  EXPECT_EQ(refusal(), "accepted");
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) / 2);
  EXPECT_NE(refusal(), "accepted");
}

TEST_F(GeneratorFile, IsRefusedWhenItIsAProgram) {
  write_file(path(), script_bytes(*trained_generator(kMakes[0])));
  EXPECT_NE(refusal().find("scripts/convert-generator"), std::string::npos) << refusal();
}

TEST_F(GeneratorFile, IsRefusedWhenANumberIsNotFinite) {
  const auto generator = trained_generator(kMakes[0]);
  generator->parameters().front().data().view(-1)[0] = std::numeric_limits<float>::quiet_NaN();
  save_generator(*generator, path());
  EXPECT_NE(refusal().find("must be finite"), std::string::npos);
}

}  // namespace
}  // namespace obol::model
