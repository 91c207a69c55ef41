// Generators as TorchScript, which PyTorch opens without Obol: an export. Such a file is a program,
// and Obol never reads one; its own files are those of generator_file.h.
//
//   write_file("generator.pt", script_bytes(*generator));
//
//   >>> g = torch.jit.load("generator.pt")
//   >>> images = g(torch.rand(10, g.latent) * 2 - 1, torch.arange(10))
//
// The file computes with torch's own operators, in evaluation mode. Its attributes are those of
// GeneratorOptions, `shape` (channels, height, width) and `num_classes`.
#pragma once

#include <string>

#include "obol/model/generator.h"

namespace obol::model {

// The bytes of such a file.
std::string script_bytes(const Generator& generator);

}  // namespace obol::model
