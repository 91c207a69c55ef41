// Trained generators as files of numbers and shapes: safetensors, which is opened without running
// anything (obol/base/tensor_file.h).
//
//   save_generator(*generator, "run/generator.safetensors");
//   auto generator = load_generator("run/generator.safetensors");   // in evaluation mode
//
//   >>> weights = safetensors.torch.load_file("generator.safetensors")
//
// The texts of the file are the keys of a recipe's [generator], the size of the images and the
// number of classes. For PyTorch as a module, see script.h.
#pragma once

#include <memory>
#include <string>

#include "obol/base/file.h"
#include "obol/model/generator.h"

namespace obol::model {

// The bytes of such a file.
std::string generator_bytes(const Generator& generator);
void save_generator(const Generator& generator, const Path& path);

// A file may come from anywhere. It is read once, and checked as a whole before a network is built.
// DataError if it is not such a file, or if a name, shape or type is not what its options say, or a
// number is not finite.
std::shared_ptr<Generator> load_generator(const Path& path);

}  // namespace obol::model
