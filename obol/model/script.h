// Trained generators as files: TorchScript, which PyTorch opens without Obol.
//
//   save_generator(*generator, "run/generator.pt");
//   auto generator = load_generator("run/generator.pt");   // in evaluation mode
//
//   >>> g = torch.jit.load("generator.pt")
//   >>> images = g(torch.rand(10, g.latent) * 2 - 1, torch.arange(10))
//
// The file computes with torch's own operators, in evaluation mode. Its attributes are those of
// GeneratorOptions, `shape` (channels, height, width) and `num_classes`.
#pragma once

#include <memory>
#include <string>

#include "obol/base/file.h"
#include "obol/model/generator.h"

namespace obol::model {

// The bytes of such a file.
std::string script_bytes(const Generator& generator);
void save_generator(const Generator& generator, const Path& path);

// A file may come from anywhere: nothing in it is run, only its options and tensors are taken.
// DataError if it is not such a file, or if a name, shape or type is not what its options say.
std::shared_ptr<Generator> load_generator(const Path& path);

}  // namespace obol::model
