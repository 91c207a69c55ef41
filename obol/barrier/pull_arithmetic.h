// The numbers of a pull: which grid its points and weights lie on, and the weights of one record.
// Compiled for CPU and GPU. docs/guarantees/barriers.md has the proof that rests on it.
//
//   const PullGrid grid = pull_grid(784);
//   clipped_weights(products, stride, rows, 10.0, {.regularization = 3, .limit = 6});
//
// Everything that is added up is a whole multiple of one unit, and small enough for a double to
// hold the sum: products and sums are exact, in whatever order they are computed.
#pragma once

#include <cmath>
#include <cstdint>

#include "obol/base/host_device.h"

namespace obol::barrier {

// Points are clamped to [-kLargestCoordinate, kLargestCoordinate], weights are multiples of
// 2^-kWeightBits, and at most kBlockRecords records are added up in a double.
constexpr double kLargestCoordinate = 64;
constexpr int kLargestCoordinateBits = 6;
constexpr int kWeightBits = 21;
constexpr std::int64_t kBlockRecords = 2048;
constexpr std::int64_t kMostRowsOfClass = std::int64_t{1} << 20;
// clip_norm times the number of records: the sum of all pulls fits into 63 bits.
constexpr double kMostClippedSum = 0x1p27;
// Sums are released up to this magnitude, so that a double holds them to the last bit.
constexpr double kLargestSum = 0x1p17;

struct PullGrid {
  int point_bits;  // points are multiples of 2^-point_bits
  [[nodiscard]] double point_unit() const { return std::ldexp(1.0, -point_bits); }
  [[nodiscard]] double sum_unit() const { return std::ldexp(1.0, -point_bits - kWeightBits); }
};

// The finest grid on which squared distances of `dimension` coordinates, up to
// 4 dimension 64^2, have at most 53 bits, and sums of a block likewise.
inline PullGrid pull_grid(std::int64_t dimension) {
  constexpr int kMostPointBits = 14;  // 14 + 21 bits, 64 = 2^6 and 2048 = 2^11: 52 bits
  constexpr int kMantissa = 53;
  int dimension_bits = 0;
  while ((std::int64_t{1} << dimension_bits) < dimension) ++dimension_bits;
  const int bits = (kMantissa - 2 - 2 * kLargestCoordinateBits - dimension_bits) / 2;
  return {bits < kMostPointBits ? bits : kMostPointBits};
}

struct PullOptions {
  double regularization;
  double limit;  // of the length of a record's weighted pulls, a little below clip_norm
};

// What `limit` is for a clip_norm. The weights of one record are off by less than
// (rows + 20) 2^-53 of themselves in the norm; with at most 2^20 rows that is below 2^-32.
OBOL_INLINE double pull_limit(double clip_norm) { return clip_norm * (1 - 0x1p-30); }

// In place, for one record t and the rows x_i of its class: from products <x_i, t> to weights
//
//   w_i = s P_i,  P = softmax_i (f_i - |x_i - t|^2) / regularization,
//   s = min(1, limit / sqrt(sum_i P_i^2 |x_i - t|^2)),
//
// rounded down to the grid of weights. `squares` are |x_i|^2, `square` is |t|^2, all exact.
OBOL_INLINE void clipped_weights(double* products, std::int64_t stride, std::int64_t rows,
                                 const double* squares, const double* potentials, double square,
                                 const PullOptions& options) {
  const double rate = 1 / options.regularization;
  double highest = -HUGE_VAL;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double distance = (squares[i] + square) - 2 * products[i * stride];
    products[i * stride] = distance;
    highest = std::fmax(highest, (potentials[i] - distance) * rate);
  }
  double total = 0;
  double norm = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double distance = products[i * stride];
    const double share = std::exp((potentials[i] - distance) * rate - highest);
    total += share;
    norm += share * share * distance;
    products[i * stride] = share;
  }
  norm = std::sqrt(norm) / total;
  double scale = (norm > options.limit ? options.limit / norm : 1.0) / total;
  // Potentials that are not finite leave no shares to speak of.
  if (!(scale >= 0 && scale <= 1)) scale = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    const double weight = std::fmin(products[i * stride] * scale, 1.0);
    const double units = std::floor(weight * static_cast<double>(std::int64_t{1} << kWeightBits));
    products[i * stride] =
        units > 0 ? units / static_cast<double>(std::int64_t{1} << kWeightBits) : 0.0;
  }
}

}  // namespace obol::barrier
