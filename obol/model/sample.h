// Images made by a trained generator, as a data set.
//
//   data::Dataset images = sample(*load_generator("generator.safetensors"), {.count = 60'000});
//
// Labels are the classes that the generator was asked for, or what a classifier sees:
//
//   const auto teacher = load_scattering_classifier("teacher.safetensors");
//   data::Dataset images = sample(*generator, {.count = 60'000, .teacher = &teacher});
#pragma once

#include <cstdint>
#include <optional>

#include "obol/data/dataset.h"
#include "obol/model/generator.h"
#include "obol/model/scattering_classifier.h"

namespace obol::model {

struct SampleOptions {
  std::int64_t count;
  std::optional<std::int64_t> label;  // of this class alone; else every class in turn
  std::optional<std::int64_t> seed;   // the same images again, on the same kind of machine
  // Every image is given the class that this sees in its bytes, not the one that the generator was
  // asked for; with `label`, images of all classes are made and those kept that it takes for that
  // one. The images of a seed are the same without it. Must know the generator's images.
  const ScatteringClassifier* teacher = nullptr;
};

// Bytes. Runs where the generator's weights are, in evaluation mode, and shows its progress. By
// Generator::for_sampling: a few levels at most from what forward gives. DataError where 10,000
// images in a row have not the class that `label` wants of the teacher.
data::Dataset sample(Generator& generator, const SampleOptions& options);

// [n, channels, height, width] in the generator's range, as bytes.
torch::Tensor to_bytes(const torch::Tensor& images, const GeneratorOptions& options);

}  // namespace obol::model
