#include "obol/privacy/pld/pair.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace obol::privacy {
namespace {

constexpr double kLargestExponent = 700;  // exp() is finite up to 709

// Mass of the standard normal distribution between two points, accurate also where both lie close
// together or far out: a difference of nearly equal values would be neither.
double normal_mass(double low, double high) {
  const double width = high - low;
  if (width * std::max({1.0, std::abs(low), std::abs(high)}) < 0.02) {
    const double middle = (low + high) / 2;
    const double reach = width / 2 * std::sqrt(0.6);  // three Gauss-Legendre points
    const auto density = [](double x) { return std::exp(-x * x / 2); };
    const double sum =
        5 * density(middle - reach) + 8 * density(middle) + 5 * density(middle + reach);
    return sum / 18 * width / std::sqrt(2 * std::numbers::pi);
  }
  const auto above = [](double x) { return std::erfc(x / std::numbers::sqrt2) / 2; };
  if (low > 0) return above(low) - above(high);
  if (high < 0) return above(-high) - above(-low);
  return 1 - above(high) - above(-low);
}

// Mass of the Laplace distribution of scale 1 around 0.
double laplace_mass(double low, double high) {
  if (!(low < high)) return 0;
  if (low >= 0) return -std::exp(-low) * std::expm1(low - high) / 2;
  if (high <= 0) return -std::exp(high) * std::expm1(low - high) / 2;
  return 1 - std::exp(low) / 2 - std::exp(-high) / 2;
}

// log(1 - q + q e^z)
double sampled_loss(double rate, double z) {
  if (rate == 1) return z;
  if (z < kLargestExponent) return std::log1p(rate * std::expm1(z));
  return z + std::log(rate);
}

// Its inverse: the z at which it is `loss`.
double unsampled_loss(double rate, double loss) {
  if (rate == 1) return loss;
  if (loss > kLargestExponent) return loss - std::log(rate);
  const double ratio = std::expm1(loss) / rate;
  return ratio <= -1 ? -kInfinity : std::log1p(ratio);
}

double sampled_slope(double rate, double z) {
  if (rate == 1) return 1;
  return z > kLargestExponent ? 1.0 : rate * std::exp(z) / (1 - rate + rate * std::exp(z));
}

}  // namespace

double Pair::cut(double mass) const {
  double low = 0;
  double high = 1;
  while (this->mass(high, kInfinity).p > mass) {
    low = high;
    high *= 2;
  }
  while (high - low > 1e-3 * high) {
    const double middle = (low + high) / 2;
    (this->mass(middle, kInfinity).p > mass ? low : high) = middle;
  }
  return high;
}

GaussianPair::GaussianPair(double sampling_rate, double sigma, int group_size)
    : rate_(sampling_rate), sigma_(sigma), group_size_(group_size) {
  for (int hits = 0; hits <= group_size; ++hits) {
    const double log_ways = std::lgamma(group_size + 1.0) - std::lgamma(hits + 1.0) -
                            std::lgamma(group_size - hits + 1.0);
    const double log_stay = hits == group_size ? 0.0 : (group_size - hits) * std::log1p(-rate_);
    log_weights_.push_back(log_ways + hits * std::log(rate_) + log_stay);
    weights_.push_back(std::exp(log_weights_.back()));
  }
}

// log of N(hits, sigma^2) over N(0, sigma^2)
double GaussianPair::exponent(int hits, double x) const {
  return hits * (2 * x - hits) / (2 * sigma_ * sigma_);
}

double GaussianPair::loss(double x) const {
  if (group_size_ == 1) return sampled_loss(rate_, exponent(1, x));
  double largest = -kInfinity;
  for (int hits = 0; hits <= group_size_; ++hits) largest = std::max(largest, exponent(hits, x));
  if (largest < kLargestExponent / 2) {
    double excess = 0;
    for (int hits = 1; hits <= group_size_; ++hits)
      excess += weights_[static_cast<std::size_t>(hits)] * std::expm1(exponent(hits, x));
    return std::log1p(excess);
  }
  double sum = 0;
  for (int hits = 0; hits <= group_size_; ++hits)
    sum += std::exp(log_weights_[static_cast<std::size_t>(hits)] + exponent(hits, x) - largest);
  return largest + std::log(sum);
}

double GaussianPair::slope(double x) const {
  if (group_size_ == 1) return sampled_slope(rate_, exponent(1, x)) / (sigma_ * sigma_);
  const double total = loss(x);
  double sum = 0;
  for (int hits = 1; hits <= group_size_; ++hits)
    sum +=
        hits * std::exp(log_weights_[static_cast<std::size_t>(hits)] + exponent(hits, x) - total);
  return sum / (sigma_ * sigma_);
}

double GaussianPair::x_at(double loss) const {
  if (group_size_ == 1) return 0.5 + sigma_ * sigma_ * unsampled_loss(rate_, loss);
  if (loss <= log_weights_[0]) return -kInfinity;
  double step = sigma_;
  double low = 0;
  while (this->loss(low) > loss) low -= (step *= 2);
  double high = low + sigma_;
  while (this->loss(high) < loss) high += (step *= 2);
  for (int i = 0; i < 100 && high - low > 1e-15 * (std::abs(low) + sigma_); ++i) {
    const double middle = (low + high) / 2;
    (this->loss(middle) < loss ? low : high) = middle;
  }
  return (low + high) / 2;
}

double GaussianPair::log_density(double x) const {
  return -x * x / (2 * sigma_ * sigma_) - std::log(sigma_ * std::sqrt(2 * std::numbers::pi));
}

PairMass GaussianPair::mass(double low, double high) const {
  PairMass result{.p = 0, .q = normal_mass(low / sigma_, high / sigma_)};
  for (int hits = 0; hits <= group_size_; ++hits)
    result.p += weights_[static_cast<std::size_t>(hits)] *
                normal_mass((low - hits) / sigma_, (high - hits) / sigma_);
  return result;
}

std::vector<SmoothRange> GaussianPair::ranges(Direction direction, double order, double cut) const {
  constexpr double kTail = 12;  // standard deviations; what lies beyond is below 1e-32
  const double variance = sigma_ * sigma_;
  double low = -kTail * sigma_;
  double high = group_size_ + kTail * sigma_;
  if (direction == Direction::kAdd) {
    // Moments of dQ/dP pull to the left, but no further than where P is all zero hits.
    const double settled =
        weights_[0] > 0 ? variance * (std::log(weights_[0] / rate_) - 40) : -kInfinity;
    low += std::max(-order * group_size_, std::min(0.0, settled));
  } else {
    high += (order - 1) * group_size_;
  }
  high = std::min(high, cut);
  // The loss, as a complex function, is singular at a distance of pi variance (over the group size)
  // from the line: 1 - q + q e^z = 0. Away from where both terms count the singularity is faint.
  const double narrow = std::min(2 * sigma_, 4 * variance / group_size_);
  if (group_size_ > 1 || rate_ == 1) return {{low, high, narrow}};
  const double turn = 0.5 + variance * std::log((1 - rate_) / rate_);
  const double first = std::clamp(turn - 45 * variance, low, high);
  const double last = std::clamp(turn + 45 * variance, low, high);
  return {{low, first, 2 * sigma_}, {first, last, narrow}, {last, high, 2 * sigma_}};
}

LaplacePair::LaplacePair(double sampling_rate, double scale)
    : rate_(sampling_rate), scale_(scale) {}

double LaplacePair::loss(double x) const {
  return sampled_loss(rate_, (2 * std::clamp(x, 0.0, 1.0) - 1) / scale_);
}

double LaplacePair::slope(double x) const {
  return sampled_slope(rate_, (2 * std::clamp(x, 0.0, 1.0) - 1) / scale_) * 2 / scale_;
}

double LaplacePair::x_at(double loss) const {
  const double x = (1 + scale_ * unsampled_loss(rate_, loss)) / 2;
  if (x <= 0) return -kInfinity;  // the atoms belong to the cells that end and begin here
  if (x > 1) return kInfinity;
  return x;
}

double LaplacePair::log_density(double x) const {
  return -std::abs(x) / scale_ - std::log(2 * scale_);
}

PairMass LaplacePair::mass(double low, double high) const {
  const double q = laplace_mass(low / scale_, high / scale_);
  const double shifted = laplace_mass((low - 1) / scale_, (high - 1) / scale_);
  return {.p = (1 - rate_) * q + rate_ * shifted, .q = q};
}

std::vector<SmoothRange> LaplacePair::ranges(Direction /*direction*/, double /*order*/,
                                             double /*cut*/) const {
  return {{0, 1, std::min(1.0, 2 * scale_)}};
}

// The points are at -1, 0 and 1; nothing is between them.
ResponsePair::ResponsePair(double epsilon, double classes)
    : epsilon_(epsilon),
      likely_(1 / (1 + (classes - 1) * std::exp(-epsilon))),
      unlikely_(std::exp(-epsilon) * likely_) {}

double ResponsePair::loss(double x) const {
  if (std::abs(x) < 0.5) return 0;
  return x < 0 ? -epsilon_ : epsilon_;
}

double ResponsePair::x_at(double loss) const {
  if (loss < -epsilon_) return -kInfinity;
  if (loss < 0) return -0.75;
  return loss < epsilon_ ? 0.25 : kInfinity;
}

double ResponsePair::log_density(double /*x*/) const { return -kInfinity; }

PairMass ResponsePair::mass(double low, double high) const {
  const auto has = [&](double x) { return low < x && x <= high ? 1.0 : 0.0; };
  const double rest = std::max(0.0, 1 - likely_ - unlikely_) * has(0);
  return {.p = likely_ * has(1) + unlikely_ * has(-1) + rest,
          .q = unlikely_ * has(1) + likely_ * has(-1) + rest};
}

std::vector<SmoothRange> ResponsePair::ranges(Direction /*direction*/, double /*order*/,
                                              double /*cut*/) const {
  return {{-0.75, -0.75, 1}, {0.75, 0.75, 1}};  // what lies below and above them are atoms
}

}  // namespace obol::privacy
