#include "obol/privacy/pld/characteristic.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "obol/privacy/pld/complex.h"
#include "obol/privacy/pld/nonuniform.h"

namespace obol::privacy {
namespace {

constexpr double kFewEvaluations = 2e6;  // of e^{i t loss}, up to which one by one is fastest
constexpr std::size_t kNodes = 24;       // that interpolate 8 radians to rounding
constexpr double kRadians = 8;

// Values of a smooth function at the Chebyshev points of an interval, interpolated between them by
// the barycentric formula (Berrut and Trefethen 2004).
class Interpolant {
 public:
  template <class Function>
  Interpolant(double low, double high, const Function& function) {
    for (std::size_t j = 0; j < kNodes; ++j) {
      const double angle = std::numbers::pi * (static_cast<double>(j) + 0.5) / kNodes;
      nodes_.at(j) = (low + high) / 2 + (high - low) / 2 * std::cos(angle);
      weights_.at(j) = (j % 2 == 0 ? 1 : -1) * std::sin(angle);
      values_.at(j) = function(nodes_.at(j));
    }
  }
  [[nodiscard]] Complex operator()(double t) const {
    Complex sum = 0;
    double total = 0;
    for (std::size_t j = 0; j < kNodes; ++j) {
      const double distance = t - nodes_.at(j);
      if (distance == 0) return values_.at(j);
      const double weight = weights_.at(j) / distance;
      sum += weight * values_.at(j);
      total += weight;
    }
    return sum / total;
  }

 private:
  std::array<double, kNodes> nodes_{};
  std::array<double, kNodes> weights_{};
  std::array<Complex, kNodes> values_{};
};

}  // namespace

Characteristic::Characteristic(const TiltedLaw& law, double step, std::size_t count)
    : step_(step), excess_(count) {
  // As many radians as kFewEvaluations allow.
  const auto points = static_cast<double>(law.losses.size());
  const double last = step * static_cast<double>(count);
  const double border = std::max(1.0, kFewEvaluations / points / kNodes) * kRadians / last;
  TiltedLaw small;
  TiltedLaw large;
  CompensatedSum small_mean;
  CompensatedSum large_mean;
  for (std::size_t i = 0; i < law.losses.size(); ++i) {
    const bool is_small = std::abs(law.losses[i]) <= border;
    TiltedLaw& into = is_small ? small : large;
    into.losses.push_back(law.losses[i]);
    into.masses.push_back(law.masses[i]);
    (is_small ? small_mean : large_mean) += law.masses[i] * law.losses[i];
    mean_size_ += law.masses[i] * std::abs(law.losses[i]);
  }
  small.mean = small_mean.value();
  large.mean = large_mean.value();
  add_small(small);
  add_large(large);
}

void Characteristic::add_small(const TiltedLaw& small) {
  double largest = 0;
  for (std::size_t i = 0; i < small.losses.size(); ++i) {
    largest = std::max(largest, std::abs(small.losses[i]));
    small_square_ += small.masses[i] * small.losses[i] * small.losses[i];
  }
  const std::size_t count = excess_.size();
  const auto points = static_cast<double>(small.losses.size());
  const double last = step_ * static_cast<double>(count);
  const double pieces = std::max(1.0, std::ceil(last * largest / kRadians));
  if (points * static_cast<double>(count) <= kFewEvaluations ||
      pieces * kNodes >= static_cast<double>(count)) {
    for (std::size_t n = 0; n < count; ++n) {
      const double t = step_ * static_cast<double>(n);
      excess_[n] += Complex(0, t * small.mean) + small.excess(t);
    }
    return;
  }
  // Over t^2, so that the interpolation, too, errs relative to the distance from one.
  const auto curvature = [&](double t) { return small.excess(t) / (t * t); };
  std::size_t n = 0;
  for (double piece = 0; piece < pieces; ++piece) {
    const double high = last * (piece + 1) / pieces;
    const Interpolant interpolant(last * piece / pieces, high, curvature);
    for (; n < count && (step_ * static_cast<double>(n) <= high || piece + 1 == pieces); ++n) {
      const double t = step_ * static_cast<double>(n);
      excess_[n] += Complex(0, t * small.mean) + t * t * interpolant(t);
    }
  }
}

void Characteristic::add_large(const TiltedLaw& large) {
  if (large.losses.empty()) return;
  CompensatedSum total;
  for (const double mass : large.masses) total += mass;
  large_mass_ = total.value();
  const std::size_t count = excess_.size();
  if (static_cast<double>(large.losses.size()) * static_cast<double>(count) <= kFewEvaluations) {
    for (std::size_t n = 0; n < count; ++n) {
      const double t = step_ * static_cast<double>(n);
      excess_[n] += Complex(0, t * large.mean) + large.excess(t);
    }
    return;
  }
  const std::vector<Complex> values =
      nonuniform_transform(large.losses, large.masses, step_, count);
  for (std::size_t n = 0; n < count; ++n) excess_[n] += values[n] - large_mass_;
}

Complex Characteristic::log_at(std::size_t n) const { return log1p(excess_[n]); }

double Characteristic::error_at(std::size_t n) const {
  const double t = step_ * static_cast<double>(n);
  // |e^{iy} - 1 - iy| is at most y^2 / 2 and at most 2 |y|.
  const double small = std::min(t * small_square_ / 2, 2 * mean_size_);
  const double error = kRounding * t * (mean_size_ + small) + kNonuniformError * large_mass_;
  return error / std::max(1e-300, std::abs(1.0 + excess_[n]));
}

}  // namespace obol::privacy
