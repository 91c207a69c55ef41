#include "obol/model/scattering_classifier.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "obol/base/error.h"
#include "obol/base/tensor_file.h"
#include "obol/features/group_norm.h"
#include "obol/model/blueprint.h"
#include "obol/model/tensors.h"

namespace obol::model {
namespace {

using torch::Tensor;

constexpr double kConstant = 0.3;  // the feature whose weight is the bias
constexpr std::uint64_t kLargestClassifier = std::uint64_t{1} << 30;

Tensor with_constant(const Tensor& features) {
  return torch::cat({features, torch::full({features.size(0), 1}, kConstant, features.options())},
                    1);
}

ClassifierBlueprint blueprint_of(const ScatteringClassifier& classifier) {
  return {.shape = classifier.shape(),
          .num_classes = classifier.num_classes(),
          .gain = classifier.gain()};
}

}  // namespace

ScatteringClassifier::ScatteringClassifier(const data::ImageShape& shape, std::int64_t num_classes,
                                           double gain, const torch::Device& device)
    : shape_(shape),
      gain_(gain),
      scattering_(shape, {.order = kOrder, .device = device}),
      weights_(torch::zeros({num_classes, scattering_.dimension() + 1},
                            torch::TensorOptions(device).dtype(torch::kDouble))) {
  check(blueprint_of(*this));
}

std::int64_t ScatteringClassifier::groups() const {
  return features::groups_for(scattering_.channels());
}

Tensor ScatteringClassifier::features(const Tensor& scattered) const {
  return with_constant(features::group_normalized(scattered, groups()));
}

Tensor ScatteringClassifier::features_of_records(const Tensor& images) const {
  return with_constant(
      features::group_normalized_records(scattering_.of_records(images), groups()));
}

Tensor ScatteringClassifier::logits(const Tensor& scattered) const {
  const Tensor rows = features(scattered);
  return torch::mm(rows, (weights_ * gain_).to(rows.options()).t());
}

Tensor ScatteringClassifier::labels(const Tensor& bytes) const {
  constexpr std::int64_t kAtOnce = 1000;  // whose scattering is held at once
  constexpr double kWhite = 255;
  if (bytes.scalar_type() != torch::kByte)
    throw InvalidArgument(
        violation("images to label", "bytes", c10::toString(bytes.scalar_type())));
  const torch::NoGradGuard no_grad;
  Tensor found = torch::empty({bytes.size(0)}, torch::kLong);
  for (std::int64_t from = 0; from < bytes.size(0); from += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, bytes.size(0) - from);
    const Tensor images = bytes.narrow(0, from, count).to(torch::kFloat).div_(kWhite);
    found.narrow(0, from, count).copy_(logits(scattering_(images)).argmax(1));
  }
  return found;
}

std::string ScatteringClassifier::bytes() const {
  const ClassifierBlueprint blueprint = blueprint_of(*this);
  TensorWriter writer;
  writer.add(weights_of(blueprint).name, weights_);
  return writer.bytes(texts_of(blueprint));
}

ScatteringClassifier load_scattering_classifier(const Path& path, const torch::Device& device) {
  const std::vector<std::byte> bytes = read_all(FileBytes(path), kLargestClassifier);
  TensorFile file(bytes, path.string());
  const ClassifierBlueprint blueprint = read_classifier_blueprint(file);
  ScatteringClassifier classifier(blueprint.shape, blueprint.num_classes, blueprint.gain, device);
  TensorReader reader(std::move(file));
  reader.copy(weights_of(blueprint).name, classifier.weights());
  reader.finish();
  return classifier;
}

}  // namespace obol::model
