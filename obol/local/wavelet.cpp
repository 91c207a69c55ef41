#include "obol/local/wavelet.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "obol/base/console.h"
#include "obol/base/error.h"
#include "obol/base/interrupt.h"
#include "obol/local/mechanism.h"

namespace obol::local {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"haar", "db2", "db4"};

constexpr std::array<double, 2> kHaar = {1 / std::numbers::sqrt2, 1 / std::numbers::sqrt2};
constexpr std::array<double, 4> kDb2 = {0.48296291314453427, 0.836516303737808, 0.2241438680420133,
                                        -0.12940952255126045};
constexpr std::array<double, 8> kDb4 = {
    0.23037781330889653, 0.7148465705529158,  0.6308807679298589,   -0.027983769416859903,
    -0.1870348117190931, 0.03084138183556076, 0.032883011666885203, -0.010597401785069035};

// A line of an image: every `stride`-th number.
struct Line {
  double* first;
  std::size_t stride;
  std::size_t size;
  [[nodiscard]] double& operator[](std::size_t i) const { return first[i * stride]; }
};

// Tap k of the filter of details.
double detail_tap(std::span<const double> filter, std::size_t k) {
  return (k % 2 == 0 ? 1 : -1) * filter[filter.size() - 1 - k];
}

// Averages into the first half, details into the second.
void split_line(const Line& line, std::span<const double> filter, std::vector<double>& scratch) {
  scratch.assign(line.size, 0.0);
  const std::size_t half = line.size / 2;
  for (std::size_t i = 0; i < half; ++i) {
    for (std::size_t k = 0; k < filter.size(); ++k) {
      const double value = line[(2 * i + k) % line.size];
      scratch[i] += filter[k] * value;
      scratch[half + i] += detail_tap(filter, k) * value;
    }
  }
  for (std::size_t i = 0; i < line.size; ++i) line[i] = scratch[i];
}

// The transpose, which is the inverse.
void join_line(const Line& line, std::span<const double> filter, std::vector<double>& scratch) {
  scratch.assign(line.size, 0.0);
  const std::size_t half = line.size / 2;
  for (std::size_t i = 0; i < half; ++i)
    for (std::size_t k = 0; k < filter.size(); ++k)
      scratch[(2 * i + k) % line.size] +=
          filter[k] * line[i] + detail_tap(filter, k) * line[half + i];
  for (std::size_t i = 0; i < line.size; ++i) line[i] = scratch[i];
}

std::int64_t padded(std::int64_t side) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(side)));
}

// One channel of a record, with zeros up to powers of two.
class PaddedPlane {
 public:
  explicit PaddedPlane(const data::ImageShape& shape)
      : height_(static_cast<std::size_t>(shape.height)),
        width_(static_cast<std::size_t>(shape.width)),
        row_(static_cast<std::size_t>(padded(shape.width))),
        values_(static_cast<std::size_t>(padded(shape.height)) * row_) {}
  void load(std::span<const double> plane) {
    std::fill(values_.begin(), values_.end(), 0.0);
    for (std::size_t y = 0; y < height_; ++y)
      std::copy_n(plane.begin() + static_cast<std::ptrdiff_t>(y * width_), width_,
                  values_.begin() + static_cast<std::ptrdiff_t>(y * row_));
  }
  void store(std::span<double> plane) const {
    for (std::size_t y = 0; y < height_; ++y)
      std::copy_n(values_.begin() + static_cast<std::ptrdiff_t>(y * row_), width_,
                  plane.begin() + static_cast<std::ptrdiff_t>(y * width_));
  }
  [[nodiscard]] std::span<double> values() { return values_; }

 private:
  std::size_t height_;
  std::size_t width_;
  std::size_t row_;
  std::vector<double> values_;
};

WaveletTransform transform_for(const data::ImageShape& shape, Wavelet wavelet, int levels) {
  return {wavelet, padded(shape.height), padded(shape.width), levels};
}

// Records as images, in whatever space they are kept.
class Images {
 public:
  explicit Images(const Privatized& data)
      : numbers_(static_cast<std::size_t>(data.how.shape.pixels())) {
    if (data.how.transform == Transform::kDct) cosines_.emplace(data.how.shape);
  }
  [[nodiscard]] std::vector<double> image(std::span<const float> records, std::size_t i) const {
    const auto record = records.subspan(i * numbers_, numbers_);
    std::vector<double> image(record.begin(), record.end());
    if (cosines_) cosines_->inverse(image);
    return image;
  }
  void store(std::vector<double> image, std::span<float> records, std::size_t i) const {
    if (cosines_) cosines_->forward(image);
    std::transform(image.begin(), image.end(),
                   records.begin() + static_cast<std::ptrdiff_t>(i * numbers_),
                   [](double value) { return static_cast<float>(value); });
  }

 private:
  std::size_t numbers_;
  std::optional<CosineTransform> cosines_;
};

std::size_t compared_records(const Privatized& data, std::span<const float> clean) {
  constexpr std::size_t kMost = 1000;
  const auto numbers = static_cast<std::size_t>(data.how.shape.pixels());
  return std::min({kMost, clean.size() / numbers, static_cast<std::size_t>(data.count())});
}

// A coefficient of privatised images beside that of the same image when it was clean.
struct Coefficient {
  double noisy;
  double clean;
};

// Of all details; what thresholds cannot change is left out.
std::vector<Coefficient> details_of(const Privatized& data, std::span<const float> clean,
                                    const WaveletTransform& transform) {
  const Images images(data);
  const auto numbers = static_cast<std::size_t>(data.how.shape.pixels());
  const auto area = static_cast<std::size_t>(data.how.shape.height * data.how.shape.width);
  PaddedPlane noisy_plane(data.how.shape);
  PaddedPlane clean_plane(data.how.shape);
  std::vector<Coefficient> details;
  for (std::size_t i = 0; i < compared_records(data, clean); ++i) {
    const std::vector<double> noisy = images.image(data.records, i);
    const auto record = clean.subspan(i * numbers, numbers);
    const std::vector<double> original(record.begin(), record.end());
    for (std::size_t start = 0; start < numbers; start += area) {
      noisy_plane.load(std::span(noisy).subspan(start, area));
      clean_plane.load(std::span(original).subspan(start, area));
      transform.forward(noisy_plane.values());
      transform.forward(clean_plane.values());
      for (std::size_t at = 0; at < noisy_plane.values().size(); ++at)
        if (transform.is_detail(at))
          details.push_back({noisy_plane.values()[at], clean_plane.values()[at]});
    }
  }
  return details;
}

// How much less the squared error is than without a threshold; the transform keeps distances.
double gain_of(const std::vector<Coefficient>& details, double threshold) {
  double gain = 0;
  for (const auto& [noisy, clean] : details) {
    const double before = noisy - clean;
    const double after = soft_threshold(noisy, threshold) - clean;
    gain += before * before - after * after;
  }
  return gain;
}

}  // namespace

std::string_view name_of(Wavelet wavelet) { return kNames.at(static_cast<std::size_t>(wavelet)); }

Wavelet wavelet_from(std::string_view name) {
  for (const Wavelet wavelet : kWavelets)
    if (name_of(wavelet) == name) return wavelet;
  throw InvalidArgument(violation("the wavelet", "haar, db2 or db4", name));
}

std::span<const double> filter_of(Wavelet wavelet) {
  switch (wavelet) {
    case Wavelet::kHaar:
      return kHaar;
    case Wavelet::kDb2:
      return kDb2;
    case Wavelet::kDb4:
      break;
  }
  return kDb4;
}

WaveletTransform::WaveletTransform(Wavelet wavelet, std::int64_t height, std::int64_t width,
                                   int levels)
    : filter_(filter_of(wavelet)),
      height_(static_cast<std::size_t>(height)),
      width_(static_cast<std::size_t>(width)),
      levels_(levels) {
  constexpr int kMostLevels = 30;
  if (levels < 1 || levels > kMostLevels || height % (std::int64_t{1} << levels) != 0 ||
      width % (std::int64_t{1} << levels) != 0)
    throw InvalidArgument(violation(
        "levels",
        fmt::format("at least 1, and so many that {} and {} can be halved", height, width),
        levels));
}

void WaveletTransform::forward(std::span<double> image) const {
  std::vector<double> scratch;
  for (int level = 0; level < levels_; ++level) {
    const std::size_t height = height_ >> level;
    const std::size_t width = width_ >> level;
    for (std::size_t y = 0; y < height; ++y)
      split_line({&image[y * width_], 1, width}, filter_, scratch);
    for (std::size_t x = 0; x < width; ++x)
      split_line({&image[x], width_, height}, filter_, scratch);
  }
}

void WaveletTransform::inverse(std::span<double> image) const {
  std::vector<double> scratch;
  for (int level = levels_; level-- > 0;) {
    const std::size_t height = height_ >> level;
    const std::size_t width = width_ >> level;
    for (std::size_t x = 0; x < width; ++x)
      join_line({&image[x], width_, height}, filter_, scratch);
    for (std::size_t y = 0; y < height; ++y)
      join_line({&image[y * width_], 1, width}, filter_, scratch);
  }
}

bool WaveletTransform::is_detail(std::size_t at) const {
  return at / width_ >= height_ >> levels_ || at % width_ >= width_ >> levels_;
}

int most_levels(const data::ImageShape& shape) {
  const std::int64_t side = std::min(padded(shape.height), padded(shape.width));
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(side))) - 1;
}

Choice best_choice(const Privatized& data, std::span<const float> clean,
                   std::optional<Wavelet> wavelet) {
  constexpr int kThresholds = 50;
  constexpr double kLargest = 5;  // of the noise's scale; hardly any noise is above it
  Choice best{.wavelet = wavelet.value_or(Wavelet::kHaar), .levels = 1, .threshold = 0};
  double best_gain = 0;
  for (const Wavelet one : kWavelets) {
    if (wavelet && *wavelet != one) continue;
    for (int levels = 1; levels <= most_levels(data.how.shape); ++levels) {
      check_interrupt();
      const auto details = details_of(data, clean, transform_for(data.how.shape, one, levels));
      for (int i = 1; i <= kThresholds; ++i) {
        const double threshold = data.how.scale * kLargest * i / kThresholds;
        const double gain = gain_of(details, threshold);
        if (gain <= best_gain) continue;
        best_gain = gain;
        best = {.wavelet = one, .levels = levels, .threshold = threshold};
      }
    }
  }
  return best;
}

void denoise(Privatized& data, const Choice& choice, Selection selection) {
  if (!std::isfinite(choice.threshold) || choice.threshold < 0)
    throw InvalidArgument(violation("threshold", "finite and not negative", choice.threshold));
  const WaveletTransform transform = transform_for(data.how.shape, choice.wavelet, choice.levels);
  const Images images(data);
  const auto area = static_cast<std::size_t>(data.how.shape.height * data.how.shape.width);
  PaddedPlane plane(data.how.shape);
  Progress progress("denoising", data.count());
  for (std::size_t i = 0; i < static_cast<std::size_t>(data.count()); ++i) {
    check_interrupt();
    std::vector<double> image = images.image(data.records, i);
    for (std::size_t start = 0; start < image.size(); start += area) {
      plane.load(std::span(image).subspan(start, area));
      transform.forward(plane.values());
      for (std::size_t at = 0; at < plane.values().size(); ++at)
        if (transform.is_detail(at))
          plane.values()[at] = soft_threshold(plane.values()[at], choice.threshold);
      transform.inverse(plane.values());
      plane.store(std::span(image).subspan(start, area));
    }
    images.store(std::move(image), data.records, i);
    progress.advance(1);
  }
  data.how.denoised = fmt::format(
      "{}, {} levels, threshold {:.6g}{}", name_of(choice.wavelet), choice.levels, choice.threshold,
      selection == Selection::kOracle ? " (oracle: chosen on clean data, not private)" : "");
}

double mean_squared_distance(const Privatized& data, std::span<const float> clean) {
  const Images images(data);
  const auto numbers = static_cast<std::size_t>(data.how.shape.pixels());
  const std::size_t count = compared_records(data, clean);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::vector<double> image = images.image(data.records, i);
    for (std::size_t k = 0; k < numbers; ++k) {
      const double off = image[k] - static_cast<double>(clean[i * numbers + k]);
      sum += off * off;
    }
  }
  return sum / static_cast<double>(std::max<std::size_t>(1, count));
}

}  // namespace obol::local
