#include "obol/evaluate/inception.h"

#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/script.h>

#include "obol/base/error.h"
#include "obol/base/sha256.h"

namespace obol::evaluate {
namespace {

using torch::Tensor;

constexpr std::int64_t kSide = 299;
constexpr std::int64_t kWidth = 2048;
constexpr std::int64_t kInceptionBatch = 50;
constexpr std::uint64_t kLargestNetwork = std::uint64_t{8} << 30;  // 8 GiB

Tensor as_it_expects(const Tensor& images) {
  namespace functional = torch::nn::functional;
  const Tensor large =
      functional::interpolate(images, functional::InterpolateFuncOptions()
                                          .size(std::vector<std::int64_t>{kSide, kSide})
                                          .mode(torch::kBilinear)
                                          .align_corners(false));
  return 2 * large.expand({-1, 3, -1, -1}) - 1;
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Inception::Inception(const Path& path, const torch::Device& device)
    : path_(path.string()), device_(device) {
  const std::string bytes = read_text(path, kLargestNetwork);  // once: what is named is what is run
  Sha256 hash;
  hash.update(bytes);
  hash_ = hash.hex();
  try {
    std::istringstream in(bytes);
    module_ = std::make_unique<torch::jit::Module>(torch::jit::load(in, device));
  } catch (const std::exception& error) {  // c10::Error, and others that do not derive from it
    throw DataError(violation("the Inception network", "a TorchScript file",
                              "one of which torch says: " + first_line(error.what()), path_));
  }
  module_->eval();
  static_cast<void>((*this)(torch::zeros({2, 3, kSide, kSide})));
}

Inception::~Inception() = default;
Inception::Inception(Inception&&) noexcept = default;
Inception& Inception::operator=(Inception&&) noexcept = default;

Tensor Inception::operator()(const Tensor& images) const {
  const torch::NoGradGuard no_grad;
  if (images.dim() != 4 || (images.size(1) != 1 && images.size(1) != 3))
    throw InvalidArgument(violation("images for an Inception network", "of 1 channel or 3",
                                    fmt::format("[{}]", fmt::join(images.sizes(), ", "))));
  c10::IValue answer;
  try {
    answer = module_->forward({as_it_expects(images.to(device_, torch::kFloat))});
  } catch (const std::exception& error) {
    throw DataError(violation("the Inception network", "one that takes [n, 3, 299, 299]",
                              "one of which torch says: " + first_line(error.what()), path_));
  }
  if (!answer.isTensor())
    throw DataError(
        violation("what the Inception network gives", "a tensor", answer.tagKind(), path_));
  const Tensor features = answer.toTensor().flatten(1);
  if (features.size(0) != images.size(0) || features.size(1) != kWidth)
    throw DataError(violation("what the Inception network gives", "2048 numbers an image",
                              fmt::format("[{}]", fmt::join(answer.toTensor().sizes(), ", ")),
                              path_));
  return features;
}

Moments Inception::moments(const Tensor& images,
                           const std::function<void(std::int64_t images)>& report) const {
  constexpr std::size_t kParts = 20;  // a product of many rows is faster
  MomentSum sum;
  std::vector<Tensor> features;
  const auto add = [&] {
    if (!features.empty()) sum.add(torch::cat(features));
    features.clear();
  };
  for (const Tensor& part : images.split(kInceptionBatch)) {
    features.push_back((*this)(part));
    if (features.size() == kParts) add();
    if (report) report(part.size(0));
  }
  add();
  return sum.moments();
}

std::string Inception::name_for(const Tensor& images) const {
  constexpr std::size_t kDigits = 16;
  const Tensor dense = images.to(torch::kCPU, torch::kFloat).contiguous();
  Sha256 hash;
  hash.update(hash_);
  hash.update(fmt::format("{}", fmt::join(dense.sizes(), " ")));
  hash.update(
      std::as_bytes(std::span(dense.data_ptr<float>(), static_cast<std::size_t>(dense.numel()))));
  return hash.hex().substr(0, kDigits);
}

}  // namespace obol::evaluate
