// Orthonormal wavelets on images, periodic at the borders, and denoising by soft thresholds: what
// people would try first on privatised images, and a baseline to beat.
//
//   const WaveletTransform transform(Wavelet::kDb2, /*height=*/32, /*width=*/32, /*levels=*/3);
//   transform.forward(image);    // the coarse part in the top left corner
//   soft_threshold(value, 0.5)   // sign(value) max(|value| - 0.5, 0)
//
//   const Choice choice = best_choice(data, clean, {});    // an oracle: it looks at clean data
//   denoise(data, choice, Selection::kOracle);             // in place; data.how.denoised says so
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "obol/local/privatized.h"

namespace obol::local {

// db2 and db4 are Daubechies' filters with 2 and 4 vanishing moments: 4 and 8 taps.
enum class Wavelet { kHaar, kDb2, kDb4 };
inline constexpr Wavelet kWavelets[] = {Wavelet::kHaar, Wavelet::kDb2, Wavelet::kDb4};

std::string_view name_of(Wavelet wavelet);  // "haar", "db2", "db4"
Wavelet wavelet_from(std::string_view name);

// Of averages; that of details has them backwards, with alternating signs.
std::span<const double> filter_of(Wavelet wavelet);

class WaveletTransform {
 public:
  // InvalidArgument unless both sides can be halved `levels` times.
  WaveletTransform(Wavelet wavelet, std::int64_t height, std::int64_t width, int levels);
  void forward(std::span<double> image) const;
  void inverse(std::span<double> image) const;
  // Whether a position holds a detail: everything but the coarse part.
  [[nodiscard]] bool is_detail(std::size_t at) const;

 private:
  std::span<const double> filter_;
  std::size_t height_;
  std::size_t width_;
  int levels_;
};

inline double soft_threshold(double value, double threshold) {
  const double size = value < 0 ? -value - threshold : value - threshold;
  if (size <= 0) return 0;
  return value < 0 ? -size : size;
}

struct Choice {
  Wavelet wavelet;
  int levels;
  double threshold;
};

// As many as there can be for images of this shape, padded to powers of two.
int most_levels(const data::ImageShape& shape);

// Levels and threshold (and wavelet, unless given) with the least squared error to `clean`, the
// same records before they were privatised, of which the first thousand count.
// Not private: whoever could do this would not need privatised data.
Choice best_choice(const Privatized& data, std::span<const float> clean,
                   std::optional<Wavelet> wavelet);

// How the choice was made, for the label.
enum class Selection { kGiven, kOracle };
void denoise(Privatized& data, const Choice& choice, Selection selection);

// Mean over the first records, as many as `clean` has, of the squared distance to it.
double mean_squared_distance(const Privatized& data, std::span<const float> clean);

}  // namespace obol::local
