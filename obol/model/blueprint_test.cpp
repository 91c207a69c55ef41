#include "obol/model/blueprint.h"

#include <cstring>
#include <limits>
#include <span>

#include <gtest/gtest.h>

#include "obol/base/error.h"

namespace obol::model {
namespace {

const Blueprint kSmall{.options = {.width = 1, .latent = 2}, .shape = {1, 8, 8}, .num_classes = 3};

// A file of such a network, all of whose numbers are zero but for one.
std::string file_of(const TensorTexts& texts, std::vector<NamedTensor> tensors, float last = 0) {
  std::vector<std::vector<std::byte>> kept;
  for (NamedTensor& tensor : tensors) {
    std::size_t bytes = size_of(tensor.type);
    for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::size_t>(size);
    tensor.bytes = kept.emplace_back(bytes);
  }
  std::memcpy(kept.back().data(), &last, sizeof(last));
  return tensor_file(texts, tensors);
}

std::string refusal_of(const std::string& text) {
  try {
    read_blueprint(TensorFile(std::as_bytes(std::span(text)), "g.safetensors"));
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

std::string refusal_with(const std::string& key, const std::string& value) {
  TensorTexts texts = texts_of(kSmall);
  texts[key] = value;
  return refusal_of(file_of(texts, tensors_of(kSmall)));
}

TEST(Blueprint, ComesBackFromItsFile) {
  for (const char* architecture : {"dcgan", "biggan", "resnet"}) {
    const Blueprint blueprint{
        .options = {.architecture = architecture, .width = 2, .latent = 5, .output = "tanh"},
        .shape = {3, 32, 32},
        .num_classes = 4};
    const std::string text = file_of(texts_of(blueprint), tensors_of(blueprint));
    const Blueprint again =
        read_blueprint(TensorFile(std::as_bytes(std::span(text)), "g.safetensors"));
    EXPECT_EQ(again.options.architecture, architecture);
    EXPECT_EQ(again.options.latent, 5);
    EXPECT_EQ(again.options.output, "tanh");
    EXPECT_EQ(again.shape, blueprint.shape);
    EXPECT_EQ(again.num_classes, 4);
  }
}

TEST(Blueprint, IsRefusedWhereTextsAreNotThoseOfAGenerator) {
  EXPECT_EQ(refusal_with("kind", "generator"), "accepted");
  const std::vector<std::pair<std::string, std::string>> lies = {
      {"kind", "checkpoint"},
      {"architecture", "transformer"},
      {"width", "0"},
      {"width", "513"},
      {"width", "1.5"},
      {"latent", "1099511627776"},
      {"embedding", "-1"},
      {"num_classes", "65537"},
      {"image_channels", "0"},
      {"image_channels", "1025"},
      {"image_height", "9"},
      {"image_width", "9223372036854775807"},
      {"activation", "identity"},
      {"more", "text"}};
  for (const auto& [key, value] : lies)
    EXPECT_NE(refusal_with(key, value).find("(g.safetensors)"), std::string::npos)
        << key << refusal_with(key, value);
  TensorTexts texts = texts_of(kSmall);
  texts.erase("latent");
  EXPECT_EQ(refusal_of(file_of(texts, tensors_of(kSmall))),
            "the text latent must be in the file of a generator, but is missing (g.safetensors)");
}

TEST(Blueprint, IsRefusedWhereTensorsAreNotThoseOfItsOptions) {
  EXPECT_EQ(refusal_with("width", "2"),
            "the tensor conv1.weight must be F32 [6, 8, 2, 2], but is F32 [6, 4, 2, 2] "
            "(g.safetensors)");
  // Would be 800 MB if it were built.
  EXPECT_NE(refusal_with("width", "512"), "accepted");
  const TensorTexts texts = texts_of(kSmall);
  std::vector<NamedTensor> tensors = tensors_of(kSmall);
  tensors.push_back({.name = "more", .type = NumberType::kFloat32, .shape = {1}});
  EXPECT_NE(refusal_of(file_of(texts, tensors)).find("the number of tensors must be"),
            std::string::npos);
  tensors.pop_back();
  tensors.erase(tensors.begin());
  EXPECT_NE(refusal_of(file_of(texts, tensors)).find("must be in the file, but is missing"),
            std::string::npos);
  tensors = tensors_of(kSmall);
  tensors[0].type = NumberType::kFloat64;
  EXPECT_NE(refusal_of(file_of(texts, tensors)).find("but is F64"), std::string::npos);
}

TEST(Blueprint, IsRefusedWhereANumberIsNotFinite) {
  for (const float value :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    EXPECT_EQ(refusal_of(file_of(texts_of(kSmall), tensors_of(kSmall), value)),
              "the tensor conv4.bias must be finite, but is not (g.safetensors)");
}

}  // namespace
}  // namespace obol::model
