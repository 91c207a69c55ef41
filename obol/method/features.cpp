#include "obol/method/features.h"

#include <charconv>
#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::method {
namespace {

using torch::Tensor;

// Rows of the orthonormal discrete cosine transform (type II), the lowest `count` frequencies.
Tensor cosines(std::int64_t count, std::int64_t size) {
  const Tensor frequency = torch::arange(count, torch::kDouble).unsqueeze(1);
  const Tensor place = torch::arange(size, torch::kDouble).unsqueeze(0) + 0.5;
  const auto n = static_cast<double>(size);
  Tensor rows = (frequency * place * (std::numbers::pi / n)).cos() * std::sqrt(2 / n);
  rows[0] *= std::sqrt(0.5);
  return rows.to(torch::kFloat);
}

// Gaussian weights over the distance; every place gives away 1 in all, so that the norm is at most
// 1 up to what the border lacks.
Tensor blur(double width, std::int64_t size) {
  const Tensor place = torch::arange(size, torch::kDouble);
  const Tensor far = (place.unsqueeze(1) - place.unsqueeze(0)) / width;
  const double total = (torch::arange(-size, size + 1, torch::kDouble) / width)
                           .square()
                           .div_(-2)
                           .exp()
                           .sum()
                           .item<double>();
  return (far.square() / -2).exp().div_(total).to(torch::kFloat);
}

double parameter(std::string_view text, double least, double most) {
  const std::string_view number = text.substr(text.find(':') + 1);
  double value = 0;
  const auto [end, status] = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool is_number = status == std::errc{} && end == number.data() + number.size();
  if (!is_number || !(value >= least && value <= most))
    throw InvalidArgument(violation(fmt::format("the number in method.features = \"{}\"", text),
                                    fmt::format("from {} to {}", least, most), number));
  return value;
}

// The nearest multiples of 2^-bits, in double.
Tensor on_grid(const Tensor& values, int bits) {
  const double per_unit = std::ldexp(1.0, bits);
  return values.to(torch::kDouble).mul(per_unit).round_().div_(per_unit);
}

}  // namespace

Features::Features(const data::ImageShape& shape, Tensor vertical, Tensor horizontal, Rows rows)
    : shape_(shape),
      vertical_(std::move(vertical)),
      horizontal_(std::move(horizontal)),
      rows_(rows) {}

Tensor Features::operator()(const Tensor& images) const {
  if (are_pixels()) return images;
  const Tensor planes = images.view({-1, shape_.height, shape_.width});
  const Tensor down = torch::matmul(vertical_.to(images.device()), planes);
  const Tensor both = torch::matmul(down, horizontal_.to(images.device()).t());
  return both.reshape({images.size(0), -1});
}

Tensor Features::of_records(const Tensor& images) const {
  const torch::NoGradGuard no_grad;
  if (are_pixels()) return images;
  // Numbers up to 64 of 18 bits behind the point, times those of a matrix, at most 1, of 20: sums
  // of 2^9 of them have 53 bits. Rounded in between, the second product is as exact.
  constexpr int kPointBits = 18;
  constexpr int kMatrixBits = 20;
  constexpr double kLargest = 64;
  const auto exact = [&](const Tensor& values) {
    return on_grid(values.clamp(-kLargest, kLargest), kPointBits);
  };
  const Tensor planes = exact(images.view({-1, shape_.height, shape_.width}));
  const Tensor down =
      exact(torch::matmul(on_grid(vertical_.to(images.device()), kMatrixBits), planes));
  const Tensor both =
      torch::matmul(down, on_grid(horizontal_.to(images.device()), kMatrixBits).t());
  return both.to(torch::kFloat).reshape({images.size(0), -1});
}

Tensor Features::dropped(const Tensor& images) const {
  if (are_pixels() || rows_ == Rows::kAny) return {};
  const auto projection = [&](const Tensor& rows) {
    return torch::mm(rows.t(), rows).to(images.device());
  };
  const Tensor planes = images.view({-1, shape_.height, shape_.width});
  const Tensor seen =
      torch::matmul(torch::matmul(projection(vertical_), planes), projection(horizontal_));
  return images - seen.view_as(images);
}

Features Features::to(const torch::Device& device) const {
  if (are_pixels()) return {};
  return {shape_, vertical_.to(device), horizontal_.to(device), rows_};
}

Features Features::inverse() const {
  if (are_pixels()) return {};
  return {shape_, vertical_.t(), horizontal_.t(), rows_};
}

Features parse_features(std::string_view text, const data::ImageShape& shape) {
  if (text == "pixels") return {};
  if (text.starts_with("blur:")) {
    const double width = parameter(text, 0.1, 100);
    return {shape, blur(width, shape.height), blur(width, shape.width), Features::Rows::kAny};
  }
  if (text.starts_with("dct:")) {
    const auto side = static_cast<double>(std::min(shape.height, shape.width));
    const double count = parameter(text, 1, side);
    if (count != std::floor(count))
      throw InvalidArgument(violation("K of method.features = \"dct:K\"", "whole", count));
    const auto k = static_cast<std::int64_t>(count);
    return {shape, cosines(k, shape.height), cosines(k, shape.width), Features::Rows::kOrthonormal};
  }
  throw InvalidArgument(violation("method.features", "pixels, blur:S or dct:K", text));
}

Features cosine_transform(const data::ImageShape& shape, const torch::Device& device) {
  return {shape, cosines(shape.height, shape.height).to(device),
          cosines(shape.width, shape.width).to(device), Features::Rows::kOrthonormal};
}

}  // namespace obol::method
