#include "obol/local/mechanism.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/privacy/noise.h"

namespace obol::local {
namespace {

constexpr double kPaperKeep = 0.2;
// More than the rounding of calibration and of accounting, and than what accountants add for the
// rounding of noise, so that what is recomputed from the event never exceeds an epsilon of 0.04 or
// more that was asked for.
constexpr double kMargin = 1e-7;

double positive(double value, const char* name) {
  if (!std::isfinite(value) || value <= 0)
    throw InvalidArgument(violation(name, "finite and positive", value));
  return value;
}

// A lie has a probability of at least 2^-64, the least that 64 random bits can have: larger
// epsilons than its logarithm would be printed and not be what happens.
double label_epsilon_of(double epsilon) {
  constexpr double kMost = 44;
  if (!(epsilon > 0 && epsilon <= kMost))
    throw InvalidArgument(violation("the epsilon of the labels",
                                    fmt::format("above 0 and at most {}", kMost), epsilon));
  return epsilon;
}

double delta_of(const PrivatizeOptions& options) {
  if (options.mechanism == Mechanism::kLaplace) {
    if (options.delta)
      throw InvalidArgument(
          violation("delta", "left out with Laplace noise, which needs none", *options.delta));
    return 0;
  }
  if (!options.delta) throw InvalidArgument("delta must be given with Gaussian noise, but is not");
  if (!(*options.delta > 0 && *options.delta < 1))
    throw InvalidArgument(violation("delta", "above 0 and below 1", *options.delta));
  return *options.delta;
}

double keep_of(const PrivatizeOptions& options) {
  if (options.transform == Transform::kNone) {
    if (options.keep)
      throw InvalidArgument(violation("keep", "given with a transform only", *options.keep));
    return 1;
  }
  const double keep = options.keep.value_or(kPaperKeep);
  if (!(keep > 0 && keep <= 1))
    throw InvalidArgument(violation("keep", "above 0 and at most 1", keep));
  return keep;
}

double sensitivity_of(const PrivatizeOptions& options) {
  // Two points of the ball without negative coordinates have no negative inner product.
  const bool is_clamped =
      options.mechanism == Mechanism::kGaussian && options.transform == Transform::kNone;
  return (is_clamped ? std::numbers::sqrt2 : 2.0) * options.radius;
}

// Of the noise, over the sensitivity.
double multiplier_for(const PrivatizeOptions& options) {
  const double sensitivity = sensitivity_of(options);
  if (options.epsilon.has_value() == options.noise.has_value())
    throw InvalidArgument("either epsilon or the noise must be given, but not both");
  if (options.noise) return positive(*options.noise, "the noise") / sensitivity;
  const double epsilon = positive(*options.epsilon, "epsilon");
  const double multiplier =
      (1 + kMargin) *
      (options.mechanism == Mechanism::kLaplace
           ? 1 / epsilon
           : privacy::calibrate_gaussian(Epsilon{epsilon}, Delta{*options.delta}, options.formula));
  return options.counting == Counting::kPublished ? multiplier * options.radius / sensitivity
                                                  : multiplier;
}

double multiplier_of(const privacy::Event& event) {
  if (const auto* laplace = std::get_if<privacy::LocalLaplace>(&event)) return laplace->scale;
  return std::get<privacy::LocalGaussian>(event).noise_multiplier;
}

double noise_scale(const Privatization& how, double multiplier) {
  const auto dimension = static_cast<std::size_t>(how.shape.pixels());
  if (how.mechanism == Mechanism::kLaplace)
    return grid_of(privacy::LaplaceNoise{.sensitivity = how.sensitivity, .scale = multiplier},
                   dimension)
        .scale;
  return grid_of(
             privacy::GaussianNoise{.sensitivity = how.sensitivity, .noise_multiplier = multiplier},
             dimension)
      .scale;
}

// [size, size]: row k is the k-th cosine at the middles of `size` cells, of length 1.
std::vector<double> cosines(std::int64_t size) {
  std::vector<double> matrix;
  matrix.reserve(static_cast<std::size_t>(size * size));
  const auto n = static_cast<double>(size);
  for (std::int64_t k = 0; k < size; ++k)
    for (std::int64_t x = 0; x < size; ++x)
      matrix.push_back(
          std::sqrt((k == 0 ? 1 : 2) / n) *
          std::cos(std::numbers::pi * (static_cast<double>(x) + 0.5) * static_cast<double>(k) / n));
  return matrix;
}

std::vector<double> transposed(const std::vector<double>& matrix, std::int64_t size) {
  const auto n = static_cast<std::size_t>(size);
  std::vector<double> out(matrix.size());
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) out[j * n + i] = matrix[i * n + j];
  return out;
}

// out += a b, of [m, inner] and [inner, n].
void add_product(std::span<const double> a, std::span<const double> b, std::size_t inner,
                 std::span<double> out) {
  const std::size_t n = b.size() / inner;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double factor = a[i];
    if (factor == 0) continue;  // most of a digit is background
    const auto row = b.subspan(i % inner * n, n);
    const auto sum = out.subspan(i / inner * n, n);
    for (std::size_t j = 0; j < n; ++j) sum[j] += factor * row[j];
  }
}

// So far inside the ball that rounding a projection cannot leave it.
double inside(double radius, std::size_t dimension) {
  return radius * (1 - 0x1p-50 * static_cast<double>(dimension + 8));
}

double l1_norm(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += std::abs(value);
  return sum;
}

void scale_down(std::span<double> values, double norm, double radius) {
  if (norm <= radius) return;
  for (double& value : values) value *= radius / norm;
}

}  // namespace

Privatization plan(const PrivatizeOptions& options, const data::ImageShape& shape,
                   std::vector<std::string> class_names) {
  Privatization how{.mechanism = options.mechanism,
                    .radius = positive(options.radius, "radius"),
                    .sensitivity = sensitivity_of(options),
                    .transform = options.transform,
                    .keep = keep_of(options),
                    .shape = shape,
                    .events = {},
                    .delta = delta_of(options),
                    .class_names = {},
                    .randomness = {},
                    .fingerprint = {},
                    .denoised = {}};
  const double multiplier = multiplier_for(options);
  how.scale = noise_scale(how, multiplier);
  privacy::Event event = privacy::LocalGaussian{.noise_multiplier = multiplier, .count = 1};
  if (how.mechanism == Mechanism::kLaplace)
    event = privacy::LocalLaplace{.scale = multiplier, .count = 1};
  how.events.push_back({.purpose = kRecordsPurpose, .event = event});
  if (!options.label_epsilon) return how;
  if (class_names.size() < 2)
    throw DataError(violation("the classes of labels that are kept", "at least 2 in number",
                              class_names.size()));
  how.events.push_back({.purpose = kLabelsPurpose,
                        .event = privacy::LocalRandomizedResponse{
                            .epsilon = label_epsilon_of(*options.label_epsilon),
                            .classes = static_cast<std::int64_t>(class_names.size()),
                            .count = 1}});
  how.class_names = std::move(class_names);
  return how;
}

CosineTransform::CosineTransform(const data::ImageShape& shape)
    : shape_(shape), rows_{cosines(shape.height), {}}, columns_{cosines(shape.width), {}} {
  rows_.transposed = transposed(rows_.plain, shape.height);
  columns_.transposed = transposed(columns_.plain, shape.width);
}

void CosineTransform::forward(std::span<double> record) const {
  apply(record, rows_.plain, columns_.transposed);
}

void CosineTransform::inverse(std::span<double> record) const {
  apply(record, rows_.transposed, columns_.plain);
}

void CosineTransform::apply(std::span<double> record, std::span<const double> left,
                            std::span<const double> right) const {
  const auto height = static_cast<std::size_t>(shape_.height);
  const auto width = static_cast<std::size_t>(shape_.width);
  std::vector<double> half(height * width);
  for (std::size_t start = 0; start < record.size(); start += half.size()) {
    const auto plane = record.subspan(start, half.size());
    std::fill(half.begin(), half.end(), 0.0);
    add_product(plane, right, width, half);
    std::fill(plane.begin(), plane.end(), 0.0);
    add_product(left, half, height, plane);
  }
}

data::Dataset as_images(const Privatized& data, std::int64_t count) {
  const auto numbers = static_cast<std::size_t>(data.how.shape.pixels());
  const auto shown = static_cast<std::size_t>(std::min(count, data.count()));
  const CosineTransform cosines(data.how.shape);
  std::vector<float> pixels;
  std::vector<double> record(numbers);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto from = data.records.begin() + static_cast<std::ptrdiff_t>(i * numbers);
    std::copy(from, from + static_cast<std::ptrdiff_t>(numbers), record.begin());
    if (data.how.transform == Transform::kDct) cosines.inverse(record);
    for (const double value : record)
      pixels.push_back(static_cast<float>(std::clamp(value, 0.0, 1.0)));
  }
  data::Dataset images{.shape = data.how.shape,
                       .pixels = std::move(pixels),
                       .labels = {},
                       .class_names = {},
                       .declared_size = static_cast<std::int64_t>(shown)};
  return images;
}

void keep_largest(std::span<double> values, std::size_t count) {
  if (count >= values.size()) return;
  std::vector<double> sizes(values.size());
  std::transform(values.begin(), values.end(), sizes.begin(),
                 [](double value) { return std::abs(value); });
  std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(count), sizes.end(),
                   std::greater<>());
  const double largest_lost = sizes[count];
  auto equal_ones = static_cast<std::ptrdiff_t>(count) -
                    std::count_if(values.begin(), values.end(),
                                  [&](double value) { return std::abs(value) > largest_lost; });
  for (double& value : values) {
    if (std::abs(value) > largest_lost) continue;
    if (std::abs(value) == largest_lost && equal_ones-- > 0) continue;
    value = 0;
  }
}

void project_l2(std::span<double> values, double radius) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  scale_down(values, std::sqrt(squares), inside(radius, values.size()));
}

// All magnitudes shrink by the same amount, those below it to zero (Duchi et al. 2008). The amount
// is found by dropping what falls below it until nothing does (Michelot 1986).
void project_l1(std::span<double> values, double radius) {
  const double wanted = inside(radius, values.size());
  double sum = l1_norm(values);
  if (sum <= wanted) return;
  std::vector<double> sizes(values.size());
  std::transform(values.begin(), values.end(), sizes.begin(),
                 [](double value) { return std::abs(value); });
  double amount = (sum - wanted) / static_cast<double>(sizes.size());
  while (std::erase_if(sizes, [&](double size) { return size <= amount; }) > 0 && !sizes.empty()) {
    sum = l1_norm(sizes);
    amount = (sum - wanted) / static_cast<double>(sizes.size());
  }
  for (double& value : values)
    value = std::copysign(std::max(0.0, std::abs(value) - amount), value);
  // What cancels, where the ball is small beside the record, must not leave it either.
  scale_down(values, l1_norm(values), wanted);
}

std::int32_t respond(RandomBits& bits, std::int32_t answer,
                     const privacy::LocalRandomizedResponse& response) {
  // Any answer at all with this probability, rounded up to a multiple of 2^-64; else the true one.
  const auto classes = static_cast<double>(response.classes);
  const double any = classes / (std::exp(response.epsilon) + classes - 1) * (1 + 1e-15);
  // At least 1, where e^epsilon overflows: the truth alone is never told.
  const double threshold = std::max(1.0, std::ceil(std::ldexp(any, 64)));
  const bool is_any = threshold >= 0x1p64 || bits() < static_cast<std::uint64_t>(threshold);
  const std::uint64_t drawn = bits.below(static_cast<std::uint64_t>(response.classes));
  return is_any ? static_cast<std::int32_t>(drawn) : answer;
}

Privatizer::Privatizer(const Privatization& how)
    : how_(how), multiplier_(multiplier_of(how.events.at(0).event)) {
  if (how.transform == Transform::kDct) transform_.emplace(how.shape);
}

void Privatizer::project(std::span<double> record) const {
  if (transform_) {
    transform_->forward(record);
    const double kept = std::ceil(how_.keep * static_cast<double>(record.size()));
    keep_largest(record, static_cast<std::size_t>(kept));
  } else {
    // A part of the mechanism, on which the sensitivity relies.
    for (double& value : record) value = std::max(0.0, value);
  }
  if (how_.mechanism == Mechanism::kGaussian)
    project_l2(record, how_.radius);
  else
    project_l1(record, how_.radius);
}

void Privatizer::add_noise(RandomBits& bits, std::span<double> record) const {
  if (how_.mechanism == Mechanism::kGaussian)
    privacy::add_gaussian(bits, record,
                          {.sensitivity = how_.sensitivity, .noise_multiplier = multiplier_});
  else
    privacy::add_laplace(bits, record, {.sensitivity = how_.sensitivity, .scale = multiplier_});
}

}  // namespace obol::local
