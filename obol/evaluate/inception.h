// A user's Inception network as a TorchScript file: the features of the Frechet Inception Distance.
//
//   Inception inception("inception.pt", torch::kCPU);
//   torch::Tensor features = inception(images);     // [n, 2048]
//
// The file is given what the common implementations give theirs: images of 299x299 by bilinear
// interpolation, three channels (greys three times), values in [-1, 1]; it gives back the 2048
// numbers of the last pooling. It is a program: take it from where you would take programs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <torch/torch.h>

#include "obol/base/file.h"
#include "obol/evaluate/frechet.h"

namespace torch::jit {
struct Module;
}

namespace obol::evaluate {

class Inception {
 public:
  // DataError where it is no TorchScript file, or gives anything but 2048 numbers an image.
  Inception(const Path& path, const torch::Device& device);
  ~Inception();
  Inception(Inception&&) noexcept;
  Inception& operator=(Inception&&) noexcept;

  // images [n, channels, height, width] in [0, 1], of one channel or three.
  [[nodiscard]] torch::Tensor operator()(const torch::Tensor& images) const;

  // `report` is told how many images each part had.
  [[nodiscard]] Moments moments(const torch::Tensor& images,
                                const std::function<void(std::int64_t images)>& report = {}) const;

  // Names the network and these images: 16 hexadecimal digits.
  [[nodiscard]] std::string name_for(const torch::Tensor& images) const;

 private:
  std::string path_;
  torch::Device device_;
  std::string hash_;  // of the file
  std::unique_ptr<torch::jit::Module> module_;
};

}  // namespace obol::evaluate
