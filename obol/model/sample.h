// Images made by a trained generator, as a data set.
//
//   data::Dataset images = sample(*load_generator("generator.safetensors"), {.count = 60'000});
#pragma once

#include <cstdint>
#include <optional>

#include "obol/data/dataset.h"
#include "obol/model/generator.h"

namespace obol::model {

struct SampleOptions {
  std::int64_t count;
  std::optional<std::int64_t> label;  // of this class alone; else every class in turn
  std::optional<std::int64_t> seed;   // the same images again, on the same kind of machine
};

// Bytes. Runs where the generator's weights are, in evaluation mode, and shows its progress. By
// Generator::for_sampling: a few levels at most from what forward gives.
data::Dataset sample(Generator& generator, const SampleOptions& options);

// [n, channels, height, width] in the generator's range, as bytes.
torch::Tensor to_bytes(const torch::Tensor& images, const GeneratorOptions& options);

}  // namespace obol::model
