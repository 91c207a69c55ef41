#include "obol/privacy/pld/law.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace obol::privacy {
namespace {

constexpr int kPoints = 16;

struct Quadrature {
  std::array<double, kPoints> points{};  // in [-1, 1]
  std::array<double, kPoints> weights{};
};

// Gauss-Legendre: the roots of the Legendre polynomial, by Newton's method from Chebyshev's.
const Quadrature& gauss_legendre() {
  static const Quadrature kRule = [] {
    Quadrature rule;
    for (std::size_t i = 0; i < kPoints; ++i) {
      double x = std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (kPoints + 0.5));
      double slope = 1;
      for (int iteration = 0; iteration < 10; ++iteration) {
        double before = 1;
        double value = x;
        for (int n = 2; n <= kPoints; ++n) {
          const double next = ((2 * n - 1) * x * value - (n - 1) * before) / n;
          before = value;
          value = next;
        }
        slope = kPoints * (x * value - before) / (x * x - 1);
        x -= value / slope;
      }
      rule.points.at(i) = x;
      rule.weights.at(i) = 2 / ((1 - x * x) * slope * slope);
    }
    return rule;
  }();
  return kRule;
}

// log of r^order - 1 - order (r - 1) at r = e^loss, which is positive for order > 1.
double log_excess(double loss, double order) {
  const double u = std::expm1(loss);
  if (std::abs(u) * order < 0.1) {
    // The binomial series from its second term on: the first two are what is subtracted.
    double term = order * (order - 1) / 2;
    double sum = term;
    for (int k = 3; k < 40 && std::abs(term) > 1e-18 * std::abs(sum); ++k) {
      term *= (order - k + 1) / k * u;
      sum += term;
    }
    return std::log(sum) + 2 * std::log(std::abs(u));
  }
  const double log_power = order * loss;
  if (log_power > 30) {
    const double log_linear = loss > 30 ? std::log(order) + loss : std::log1p(order * u);
    return log_power + std::log1p(-std::exp(log_linear - log_power));
  }
  // Both terms fall with order - 1, so that little cancels near order 1.
  return std::log(std::exp(loss) * std::expm1((order - 1) * loss) - (order - 1) * u);
}

// e^{iy} - 1 - iy without cancellation.
std::complex<double> exponential_from_second_term(double y) {
  const double half = std::sin(y / 2);
  const double real = -2 * half * half;
  if (std::abs(y) > 0.5) return {real, std::sin(y) - y};
  const double square = y * y;
  double term = -y * square / 6;
  double imaginary = 0;
  for (int k = 4; k < 24 && std::abs(term) > 1e-19 * std::abs(imaginary); k += 2) {
    imaginary += term;
    term *= -square / (k * (k + 1));
  }
  return {real, imaginary};
}

// Whether 16 points are too few for a panel, under one law: its tilted density changes too much
// from one quarter to the next, or e^{i t loss} turns too often. Where nobody looks it does not
// matter.
bool is_too_wide(const Pair& pair, double slope_of_log, double low, double width,
                 const Resolution& resolution) {
  constexpr double kSteepest = 1.5;  // change of the log density over a quarter
  constexpr double kRadians = 8;     // of e^{i t loss}
  double largest = -kInfinity;
  double steepest = 0;
  double before = 0;
  for (const int quarter : {0, 1, 2, 3, 4}) {
    const double x = low + width * quarter / 4;
    const double here = pair.log_density(x) + slope_of_log * pair.loss(x);
    if (quarter > 0) steepest = std::max(steepest, std::abs(here - before));
    largest = std::max(largest, here);
    before = here;
  }
  // Between the quarters a concave function is below the secants of their neighbours; the others
  // bend down by no more than the normal density does.
  if (largest + steepest + 1 + std::log(width) < resolution.faintest) return false;
  return steepest > kSteepest || resolution.frequency * width * pair.slope(low + width) > kRadians;
}

bool is_too_wide(const Pair& pair, Direction direction, double low, double width,
                 const Resolution& resolution) {
  // Under the mirrored law Q has P's density, and the loss is the opposite.
  return (direction != Direction::kAdd &&
          is_too_wide(pair, resolution.order, low, width, resolution)) ||
         (direction != Direction::kRemove &&
          is_too_wide(pair, 1 - resolution.order, low, width, resolution));
}

// At most 1 - |sin(z)/z| for every z >= y.
double sine_decay(double y) {
  if (y < 2) return y * y / 6 - y * y * y * y / 120;
  return std::max(8.0 / 15, 1 - 1 / y);
}

}  // namespace

double log_one_plus_exp(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

std::complex<double> TiltedLaw::excess(double t) const {
  CompensatedSum real;
  CompensatedSum imaginary;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    const std::complex<double> term = exponential_from_second_term(t * losses[i]);
    real += masses[i] * term.real();
    imaginary += masses[i] * term.imag();
  }
  return {real.value(), imaginary.value()};
}

double TiltedLaw::decay(double t) const {
  double sum = 0;
  for (const Piece& piece : pieces) sum += piece.mass * sine_decay(t * piece.length / 2);
  return sum;  // log(1 - sum) <= -sum
}

Law::Law(const Pair& pair, Direction direction, double highest_order, double cut,
         const Resolution& resolution)
    : highest_order_(highest_order) {
  const std::vector<SmoothRange> ranges = pair.ranges(direction, highest_order, cut);
  for (SmoothRange range : ranges) {
    if (direction == Direction::kEither) range.low = std::max(range.low, pair.x_at(0));
    if (range.low < range.high) add_range(pair, direction, range, resolution);
  }
  const double low = ranges.front().low;
  const double high = ranges.back().high;
  const PairMass below = pair.mass(-kInfinity, low);
  const PairMass above = pair.mass(high, kInfinity);
  if (!pair.has_atoms()) {
    outside_ = below.p + below.q + above.p + above.q;
    if (direction == Direction::kRemove) lost_ = below.p + above.p;
    if (direction == Direction::kAdd) lost_ = below.q + above.q;
    if (direction == Direction::kEither) lost_ = above.p + above.q;
    return;
  }
  if (direction != Direction::kEither) add_point(pair.loss(low), std::log(below.q), direction);
  // Q's mass up there may be less than a double holds; P's is not.
  add_point(pair.loss(high), std::log(above.p) - pair.loss(high), direction);
}

void Law::add_range(const Pair& pair, Direction direction, const SmoothRange& range,
                    const Resolution& resolution) {
  const Quadrature& rule = gauss_legendre();
  constexpr int kPieces = 4;  // of a panel, so that a piece's density varies little
  double low = range.low;
  while (low < range.high) {
    double width = std::min(range.width, range.high - low);
    while (is_too_wide(pair, direction, low, width, resolution)) width /= 2;
    const double middle = low + width / 2;
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double x = middle + width / 2 * rule.points.at(i);
      add_point(pair.loss(x), pair.log_density(x) + std::log(width / 2 * rule.weights.at(i)),
                direction);
    }
    for (int piece = 0; piece < kPieces; ++piece)
      add_piece(pair, direction, low + width * piece / kPieces,
                low + width * (piece + 1) / kPieces);
    low = range.high - (low + width) < 1e-9 * range.width ? range.high : low + width;
  }
}

void Law::add_point(double loss, double log_mass, Direction direction) {
  // A mirrored point has the opposite loss, and under the new Q the mass it had under P.
  if (direction != Direction::kAdd) {
    losses_.push_back(loss);
    log_masses_.push_back(log_mass);
  }
  if (direction != Direction::kRemove) {
    losses_.push_back(-loss);
    log_masses_.push_back(log_mass + loss);
  }
}

void Law::add_piece(const Pair& pair, Direction direction, double low, double high) {
  const double lowest = pair.loss(low);
  const double highest = pair.loss(high);
  if (!(highest > lowest)) return;
  const double length = highest - lowest;
  const double log_stretch = std::log(length / std::max(pair.slope(low), pair.slope(high)));
  const double low_density = pair.log_density(low);
  const double high_density = pair.log_density(high);
  if (direction != Direction::kAdd) {
    // Q's log density is concave, so above its chord; the loss is convex, so above its tangent.
    const double middle = (low + high) / 2;
    const double rise = pair.slope(middle) * (high - low) / 2;
    const double at_middle = pair.loss(middle);
    pieces_.push_back(
        {length, log_stretch, {low_density, at_middle - rise}, {high_density, at_middle + rise}});
  }
  // Mirrored, the loss is concave as well.
  if (direction != Direction::kRemove)
    pieces_.push_back(
        {length, log_stretch, {low_density + lowest, -lowest}, {high_density + highest, -highest}});
}

double Law::log_moment_less_one(double order) const {
  // Scaled by the largest term, so that nothing overflows.
  std::vector<double> terms(losses_.size());
  double largest = -kInfinity;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    terms[i] = log_masses_[i] + log_excess(losses_[i], order);
    largest = std::max(largest, terms[i]);
  }
  if (std::isinf(largest)) return largest;
  CompensatedSum sum;
  for (const double term : terms) sum += std::exp(term - largest);
  return largest + std::log(sum.value());
}

TiltedLaw Law::tilted(double order, double lightest) const {
  const double log_total = log_moment(order);
  TiltedLaw law;
  CompensatedSum mean;
  for (std::size_t i = 0; i < losses_.size(); ++i) {
    const double mass = std::exp(log_masses_[i] + order * losses_[i] - log_total);
    if (mass < lightest) continue;
    law.losses.push_back(losses_[i]);
    law.masses.push_back(mass);
    mean += mass * losses_[i];
  }
  law.mean = mean.value();
  for (const Piece& piece : pieces_) {
    const double log_density = std::min(piece.low.log_density + order * piece.low.loss,
                                        piece.high.log_density + order * piece.high.loss);
    const double mass = std::exp(piece.log_stretch + log_density - log_total);
    if (mass > lightest) law.pieces.push_back({piece.length, mass});
  }
  return law;
}

}  // namespace obol::privacy
