#include "obol/model/scattering_classifier.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "obol/base/error.h"
#include "obol/base/tensor_file.h"
#include "obol/features/group_norm.h"
#include "obol/features/scattering.h"
#include "obol/model/blueprint.h"
#include "obol/testing/gpu.h"

namespace obol::model {
namespace {

using torch::Tensor;

const data::ImageShape kShape{2, 10, 8};

ScatteringClassifier some_classifier(const torch::Device& device = torch::kCPU) {
  torch::manual_seed(1);
  ScatteringClassifier classifier(kShape, 5, 30, device);
  classifier.weights().copy_(torch::randn(classifier.weights().sizes(), torch::kDouble));
  return classifier;
}

Tensor some_bytes(std::int64_t count) {
  return torch::randint(0, 256, {count, kShape.channels, kShape.height, kShape.width},
                        torch::kByte);
}

TEST(ScatteringClassifier, GivesTheLabelsOfItsFormulaInDoubles) {
  const ScatteringClassifier classifier = some_classifier();
  const Tensor bytes = some_bytes(1100);
  const features::Scattering scattering(kShape, {.order = 2});
  const Tensor maps = scattering.reference(bytes.to(torch::kDouble) / 255);
  const Tensor rows = features::group_normalized(maps, features::groups_for(2 * 81));
  const Tensor with_bias =
      torch::cat({rows, torch::full({bytes.size(0), 1}, 0.3, torch::kDouble)}, 1);
  const Tensor logits = 30 * torch::mm(with_bias, classifier.weights().t());
  EXPECT_LT((classifier.logits(scattering(bytes.to(torch::kFloat) / 255)) - logits)
                .abs()
                .max()
                .item<double>(),
            1e-3);
  const Tensor largest = std::get<0>(logits.topk(2, 1));
  const Tensor is_clear = largest.select(1, 0) - largest.select(1, 1) > 2e-3;
  EXPECT_GT(is_clear.sum().item<std::int64_t>(), 1000);
  const Tensor found = classifier.labels(bytes);
  EXPECT_TRUE(found.masked_select(is_clear).equal(logits.argmax(1).masked_select(is_clear)));
  EXPECT_EQ(std::get<0>(torch::_unique(found)).numel(), 5);
}

TEST(ScatteringClassifier, HasTheFeaturesOfRecordsThatImagesHave) {
  const ScatteringClassifier classifier = some_classifier();
  const Tensor images = torch::rand({7, kShape.pixels()});
  const features::Scattering scattering(kShape, {.order = 2});
  EXPECT_TRUE(torch::allclose(classifier.features_of_records(images),
                              classifier.features(scattering(images)), 1e-3, 1e-5));
}

TEST(ScatteringClassifier, LabelsBytesAndNothingElse) {
  EXPECT_THROW(static_cast<void>(some_classifier().labels(some_bytes(3).to(torch::kFloat))),
               InvalidArgument);
}

TEST(ScatteringClassifier, RefusesWhatIsOutOfItsLimits) {
  EXPECT_THROW(ScatteringClassifier(kShape, 1, 30), InvalidArgument);
  EXPECT_THROW(ScatteringClassifier(kShape, 5, 0), InvalidArgument);
  EXPECT_THROW(ScatteringClassifier({1, 65, 28}, 5, 30), InvalidArgument);
}

class ScatteringClassifierFile : public ::testing::Test {
 protected:
  [[nodiscard]] Path path() const { return folder_.path() / "teacher.safetensors"; }

  [[nodiscard]] std::string refusal_of(const std::string& bytes) const {
    write_file(path(), bytes);
    try {
      static_cast<void>(load_scattering_classifier(path()));
    } catch (const DataError& error) {
      return error.what();
    }
    return "accepted";
  }

  // A file of zeros with those texts and tensors.
  static std::string file_of(const TensorTexts& texts, std::vector<NamedTensor> tensors) {
    std::vector<std::vector<std::byte>> kept;
    for (NamedTensor& tensor : tensors) {
      std::size_t bytes = size_of(tensor.type);
      for (const std::int64_t size : tensor.shape) bytes *= static_cast<std::size_t>(size);
      tensor.bytes = kept.emplace_back(bytes);
    }
    return tensor_file(texts, tensors);
  }
  static ClassifierBlueprint blueprint() { return {.shape = kShape, .num_classes = 5, .gain = 30}; }

 private:
  TemporaryFolder folder_;
};

TEST_F(ScatteringClassifierFile, GivesTheSameLabelsWhenReadBack) {
  const ScatteringClassifier classifier = some_classifier();
  write_file(path(), classifier.bytes());
  const ScatteringClassifier again = load_scattering_classifier(path());
  const Tensor bytes = some_bytes(50);
  EXPECT_TRUE(again.labels(bytes).equal(classifier.labels(bytes)));
  EXPECT_TRUE(again.weights().equal(classifier.weights()));
  EXPECT_EQ(again.shape(), kShape);
  EXPECT_EQ(again.num_classes(), 5);
  EXPECT_EQ(again.gain(), 30);
  EXPECT_EQ(again.bytes(), classifier.bytes());
}

// The blueprint says without LibTorch how many features there are; this is where both meet.
TEST_F(ScatteringClassifierFile, HasTheFeaturesOfItsBlueprint) {
  for (const data::ImageShape& shape :
       {data::ImageShape{1, 28, 28}, data::ImageShape{3, 32, 32}, data::ImageShape{2, 9, 5}})
    EXPECT_EQ(ScatteringClassifier(shape, 2, 1).weights().size(1),
              (ClassifierBlueprint{.shape = shape, .num_classes = 2, .gain = 1}.features()));
}

TEST_F(ScatteringClassifierFile, IsRefusedWhenItIsNoneOrCutShortOrMissing) {
  EXPECT_THROW(static_cast<void>(load_scattering_classifier(path())), Error);
  EXPECT_NE(refusal_of("text").find("in the layout of safetensors"), std::string::npos);
  const std::string whole = some_classifier().bytes();
  EXPECT_EQ(refusal_of(whole), "accepted");
  EXPECT_NE(refusal_of(whole.substr(0, whole.size() / 2)), "accepted");
  EXPECT_NE(refusal_of(whole + std::string(8, '\0')), "accepted");
}

TEST_F(ScatteringClassifierFile, IsRefusedWhenANumberIsNotFinite) {
  const ScatteringClassifier classifier = some_classifier();
  for (const double value :
       {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
    classifier.weights()[4][7] = value;
    EXPECT_EQ(refusal_of(classifier.bytes()),
              "the tensor weights must be finite, but is not (" + path().string() + ")");
  }
}

TEST_F(ScatteringClassifierFile, IsRefusedWhenTextsAreNotThoseOfAClassifier) {
  const auto refusal_with = [&](const std::string& key, const std::string& value) {
    TensorTexts texts = texts_of(blueprint());
    texts[key] = value;
    return refusal_of(file_of(texts, {weights_of(blueprint())}));
  };
  EXPECT_EQ(refusal_with("gain", "30"), "accepted");
  const std::vector<std::pair<std::string, std::string>> lies = {
      {"kind", "generator"},
      {"gain", "0"},
      {"gain", "-1"},
      {"gain", "inf"},
      {"gain", "x"},
      {"num_classes", "1"},
      {"num_classes", "65537"},
      {"num_classes", "4"},
      {"image_channels", "0"},
      {"image_channels", "1025"},
      {"image_height", "16"},
      {"image_height", "65"},
      {"image_width", "0"},
      {"image_width", "9223372036854775807"},
      {"features", "scattering"},
      {"more", "text"}};
  for (const auto& [key, value] : lies)
    EXPECT_NE(refusal_with(key, value).find("(" + path().string() + ")"), std::string::npos)
        << key << refusal_with(key, value);
  TensorTexts texts = texts_of(blueprint());
  texts.erase("gain");
  EXPECT_NE(refusal_of(file_of(texts, {weights_of(blueprint())}))
                .find("the text gain must be in the file of a classifier, but is missing"),
            std::string::npos);
}

TEST_F(ScatteringClassifierFile, IsRefusedWhenTensorsAreNotThoseOfItsTexts) {
  const TensorTexts texts = texts_of(blueprint());
  NamedTensor single = weights_of(blueprint());
  single.type = NumberType::kFloat32;
  EXPECT_NE(refusal_of(file_of(texts, {single})).find("but is F32"), std::string::npos);
  NamedTensor narrow = weights_of(blueprint());
  narrow.shape[1] -= 1;
  EXPECT_NE(refusal_of(file_of(texts, {narrow})).find("the tensor weights must be F64 [5, "),
            std::string::npos);
  NamedTensor other = weights_of(blueprint());
  other.name = "weight";
  EXPECT_NE(refusal_of(file_of(texts, {other})).find("in the file, but is missing"),
            std::string::npos);
  EXPECT_NE(refusal_of(file_of(texts, {weights_of(blueprint()), other}))
                .find("the number of tensors must be 1"),
            std::string::npos);
}

TEST(ScatteringClassifierGpu, SeesWhatTheProcessorSees) {
  OBOL_NEEDS_GPU();
  const ScatteringClassifier here = some_classifier();
  const ScatteringClassifier there = some_classifier(torch::kCUDA);
  const Tensor bytes = some_bytes(500);
  const Tensor found = there.labels(bytes.to(torch::kCUDA));
  EXPECT_TRUE(found.is_cpu());
  EXPECT_GE(found.eq(here.labels(bytes)).sum().item<std::int64_t>(), 490) << "but for ties";
}

}  // namespace
}  // namespace obol::model
