// write_generator ARCHITECTURE NUM_CLASSES FOLDER: a generator as generator.pt, and what it makes
// of some latent vectors and labels as example.pt.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>

#include <torch/script.h>

#include "obol/base/file.h"
#include "obol/base/random.h"
#include "obol/model/average.h"
#include "obol/model/generator.h"
#include "obol/model/script.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: write_generator ARCHITECTURE NUM_CLASSES FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[3];
  const std::int64_t num_classes = std::stoll(argv[2]);
  constexpr std::int64_t kCount = 12;
  torch::manual_seed(1);
  auto generator = obol::model::make_generator({.architecture = argv[1], .width = 8, .latent = 6},
                                               {1, 32, 32}, num_classes);
  obol::SeededBits bits(1);
  const torch::Tensor z = generator->latents(kCount, bits);
  const torch::Tensor labels =
      torch::arange(kCount, at::kLong).remainder(std::max<std::int64_t>(num_classes, 1));
  const torch::NoGradGuard no_grad;
  obol::model::recompute_statistics(*generator, 1, bits);  // neither 0 nor 1
  generator->eval();
  obol::write_file(folder / "generator.pt", obol::model::script_bytes(*generator));
  torch::jit::Module example("Example");
  example.register_buffer("z", z);
  example.register_buffer("labels", labels);
  example.register_buffer("images", generator->forward(z, labels).contiguous());
  example.save((folder / "example.pt").string());
  return 0;
}
