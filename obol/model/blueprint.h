// What a file says of a generator, without LibTorch: its options, the images it makes, and the
// tensors that follow from these. The same of a classifier that labels its images.
//
//   const TensorFile file(bytes, "generator.safetensors");
//   const Blueprint blueprint = read_blueprint(file);   // the file is then a generator
//   const ClassifierBlueprint teacher = read_classifier_blueprint(teacher_file);
//   teacher.fits(blueprint)
//
// A file is checked as a whole before a network is built, so that a network never takes more memory
// than the file that describes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "obol/base/tensor_file.h"
#include "obol/data/dataset.h"
#include "obol/model/options.h"

namespace obol::model {

struct Blueprint {
  GeneratorOptions options;
  data::ImageShape shape;
  std::int64_t num_classes = 0;
};

// InvalidArgument on options out of their limits, and on a shape that the architecture cannot make,
// naming those that it can.
void check(const Blueprint& blueprint);

// The parameters and buffers of such a network, without numbers.
std::vector<NamedTensor> tensors_of(const Blueprint& blueprint);

TensorTexts texts_of(const Blueprint& blueprint);
// DataError unless the texts are those of a generator, and the tensors have exactly the names,
// types and shapes that follow from them, and finite numbers.
Blueprint read_blueprint(const TensorFile& file);

// Of a ScatteringClassifier (scattering_classifier.h).
struct ClassifierBlueprint {
  data::ImageShape shape;
  std::int64_t num_classes = 0;
  double gain = 0;

  // Of an image, with the constant that comes last.
  [[nodiscard]] std::int64_t features() const;
  // Whether it is for images of that size and of as many classes.
  [[nodiscard]] bool fits(const Blueprint& generator) const {
    return generator.shape == shape && generator.num_classes == num_classes;
  }
};

// InvalidArgument on what is out of its limits.
void check(const ClassifierBlueprint& blueprint);
// The weights, without numbers.
NamedTensor weights_of(const ClassifierBlueprint& blueprint);
TensorTexts texts_of(const ClassifierBlueprint& blueprint);
// As read_blueprint.
ClassifierBlueprint read_classifier_blueprint(const TensorFile& file);

}  // namespace obol::model
