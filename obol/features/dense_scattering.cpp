#include "obol/features/dense_scattering.h"

#include <vector>

#include "obol/features/scattering_filters.h"

namespace obol::features {
namespace {

using torch::Tensor;

Tensor weights_of(const Wavelets& wavelets) {
  const auto taps = static_cast<std::int64_t>(wavelets.taps);
  const auto tensor = [&](const std::vector<double>& part) {
    return torch::tensor(part, torch::kDouble).view({-1, 1, taps, taps});
  };
  return torch::stack({tensor(wavelets.real), tensor(wavelets.imaginary)}, 1).flatten(0, 1);
}

Tensor weights_of(const std::vector<double>& low) {
  const Tensor line = torch::tensor(low, torch::kDouble);
  return torch::outer(line, line).unsqueeze(0).unsqueeze(0);
}

struct Size {
  std::int64_t height;
  std::int64_t width;

  [[nodiscard]] std::int64_t pixels() const { return height * width; }
};

Size padded(const Size& size) {
  constexpr std::int64_t kMultiple = 4;
  return {.height = (size.height + kMultiple - 1) / kMultiple * kMultiple,
          .width = (size.width + kMultiple - 1) / kMultiple * kMultiple};
}

Size halved(const Size& size) { return {.height = size.height / 2, .width = size.width / 2}; }

// One image for each pixel, in which that pixel alone is 1: [pixels, 1, height, width].
Tensor unit_images(const Size& size) {
  return torch::eye(size.pixels(), torch::kDouble).view({-1, 1, size.height, size.width});
}

// In the middle of zeros.
Tensor within(const Tensor& images, const Size& outer) {
  const std::int64_t below = outer.height - images.size(2);
  const std::int64_t beside = outer.width - images.size(3);
  return at::constant_pad_nd(images,
                             {beside / 2, beside - beside / 2, below / 2, below - below / 2});
}

// The matrix of a convolution: [pixels, channels * pixels of the answer].
Tensor matrix_of(const Tensor& units, const Tensor& weights, std::int64_t stride,
                 const torch::Device& device) {
  const std::int64_t padding = (weights.size(-1) - stride) / 2;
  return at::conv2d(units, weights, {}, stride, padding).flatten(1).to(device, torch::kFloat);
}

// [m, pixels] to moduli [m, angles, pixels of the answer].
Tensor moduli_of(const Tensor& planes, const Tensor& wavelets) {
  const Tensor answers =
      torch::mm(planes, wavelets).view({planes.size(0), static_cast<std::int64_t>(kAngles), 2, -1});
  return (answers.select(2, 0).square() + answers.select(2, 1).square() + kSmoothing).sqrt();
}

}  // namespace

ScatteringWeights scattering_weights() {
  const ScatteringFilters filters = scattering_filters();
  return {.fine = weights_of(filters.fine),
          .coarse = weights_of(filters.coarse),
          .low = weights_of(filters.low),
          .low_halved = weights_of(filters.low_halved)};
}

DenseScattering::DenseScattering(const ScatteringWeights& weights, std::int64_t height,
                                 std::int64_t width, int order, const torch::Device& device) {
  const Size whole = padded({.height = height, .width = width});
  const Tensor images = within(unit_images({.height = height, .width = width}), whole);
  fine_ = matrix_of(images, weights.fine, 1, device);
  coarse_ = matrix_of(images, weights.coarse, 2, device);
  low_ = matrix_of(images, weights.low, 4, device);
  const Tensor moduli = unit_images(whole);
  if (order == 2) second_ = matrix_of(moduli, weights.coarse, 2, device);
  low_of_fine_ = matrix_of(moduli, weights.low, 4, device);
  low_of_coarse_ = matrix_of(unit_images(halved(whole)), weights.low_halved, 2, device);
}

bool DenseScattering::fits(std::int64_t height, std::int64_t width) {
  constexpr std::int64_t kMostBytes = std::int64_t{1} << 29;
  constexpr std::int64_t kMostPixels = std::int64_t{1} << 15;  // no product below overflows
  const std::int64_t pixels = padded({.height = height, .width = width}).pixels();
  if (pixels > kMostPixels) return false;
  // Real and imaginary parts of eight angles at every pixel, twice at every fourth.
  constexpr std::int64_t kAnswers = 2 * static_cast<std::int64_t>(kAngles);
  constexpr auto kBytes = static_cast<std::int64_t>(sizeof(float));
  return pixels * pixels * (kAnswers + kAnswers / 2) * kBytes <= kMostBytes;
}

Tensor DenseScattering::operator()(const Tensor& planes) const {
  const std::int64_t count = planes.size(0);
  const Tensor fine = moduli_of(planes, fine_);
  std::vector<Tensor> parts = {torch::mm(planes, low_).unsqueeze(1),
                               torch::matmul(fine, low_of_fine_),
                               torch::matmul(moduli_of(planes, coarse_), low_of_coarse_)};
  if (second_.defined()) {
    const Tensor second = moduli_of(fine.flatten(0, 1), second_);
    parts.push_back(torch::matmul(second, low_of_coarse_).view({count, -1, low_.size(1)}));
  }
  return torch::cat(parts, 1);
}

}  // namespace obol::features
