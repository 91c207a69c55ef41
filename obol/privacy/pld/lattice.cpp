#include "obol/privacy/pld/lattice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "obol/privacy/pld/complex.h"
#include "obol/privacy/pld/fft.h"
#include "obol/privacy/pld/lattice_law.h"

namespace obol::privacy {
namespace {

constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;

struct LatticePart {
  LatticeLaw upper;
  LatticeLaw lower;
  double count;
};

Complex expm1(Complex z) {
  const double half = std::sin(z.imag() / 2);
  return {std::expm1(z.real()) * std::cos(z.imag()) - 2 * half * half,
          std::exp(z.real()) * std::sin(z.imag())};
}

// One of the two bounds. The tilted mass at a point is its mass times e^{c loss - cumulant}.
//
// Most releases cost next to nothing: nearly all of their mass is on one point. That point is kept
// apart from the transforms, before and after, so that they err relative to the rest.
class Side {
 public:
  Side(double c, double spacing, std::size_t size)
      : c_(c), spacing_(spacing), logs_(size / 2 + 1) {}

  // Puts the rest of a law, times `unit`, into values that wrap around; what comes out of their
  // transform is for compose().
  void place(const LatticeLaw& law, double count, Complex unit, std::vector<Complex>& values);
  void compose(std::size_t k, Complex transform, double count) {
    logs_[k] += count * log1p(transform / heaviest_);
  }
  // The transform of the composed law less its point apart.
  [[nodiscard]] Complex transform(std::size_t k) const;

  // The mass of the composed law that is transformed back.
  [[nodiscard]] double transformed() const { return -std::expm1(log_apart_); }
  // Of the law last placed. Where no point stands out, taking logs loses what keeping one apart
  // gains, and it counts as if it had been transformed.
  [[nodiscard]] double heaviest_error() const { return heaviest_ > 0.5 ? 0 : heaviest_; }

  // From the lattice point at or below `bottom` on; `masses` begin at the point that is kept apart.
  void finish(std::vector<double> masses, double bottom);
  [[nodiscard]] double bottom() const { return offset_ + spacing_ * static_cast<double>(first_); }

  // E[(1 - e^{epsilon - loss})_+] over e^{cumulant - c epsilon}.
  [[nodiscard]] double delta(double epsilon) const;

  double cumulant = 0;
  double slack = 0;  // error of delta()

 private:
  double c_;
  double spacing_;
  double offset_ = 0;       // of the lattice of sums
  std::int64_t apart_ = 0;  // the point of the composed law that is kept apart,
  double log_apart_ = 0;    // and the log of its mass
  double heaviest_ = 1;     // of the law last placed
  std::vector<Complex> logs_;
  std::int64_t first_ = 0;
  // Sums over the points from one upwards of the tilted mass times e^{-c d} and e^{-(c+1) d}, d the
  // distance from that one.
  std::vector<double> near_;
  std::vector<double> nearer_;
};

void Side::place(const LatticeLaw& law, double count, Complex unit, std::vector<Complex>& values) {
  const double total = law.cumulant(c_, spacing_);
  std::vector<double> tilted(law.masses.size());
  for (std::size_t i = 0; i < tilted.size(); ++i)
    if (law.masses[i] > 0) tilted[i] = std::exp(law.log_term(i, c_, spacing_) - total);
  const auto top =
      static_cast<std::size_t>(std::max_element(tilted.begin(), tilted.end()) - tilted.begin());
  heaviest_ = tilted[top];
  offset_ += count * law.offset;
  apart_ += static_cast<std::int64_t>(count) * (law.first + static_cast<std::int64_t>(top));
  log_apart_ += count * std::log(heaviest_);
  cumulant += count * total;
  for (std::size_t i = 0; i < tilted.size(); ++i)
    if (i != top) values[(i - top) & (values.size() - 1)] += unit * tilted[i];
}

Complex Side::transform(std::size_t k) const {
  const Complex log = logs_[k];
  if (log.real() < 1) return std::exp(log_apart_) * expm1(log);
  return std::exp(log_apart_ + log) - std::exp(log_apart_);
}

void Side::finish(std::vector<double> masses, double bottom) {
  const std::size_t size = masses.size();
  masses[0] += std::exp(log_apart_);
  first_ = static_cast<std::int64_t>(std::floor((bottom - offset_) / spacing_));
  near_.assign(size + 1, 0.0);
  nearer_.assign(size + 1, 0.0);
  const double factor = std::exp(-c_ * spacing_);
  const double smaller_factor = std::exp(-(c_ + 1) * spacing_);
  for (std::size_t i = size; i-- > 0;) {
    const auto index = static_cast<std::size_t>(first_ - apart_) + i;
    const double mass = masses[index & (size - 1)];
    near_[i] = mass + factor * near_[i + 1];
    nearer_[i] = mass + smaller_factor * nearer_[i + 1];
  }
}

// The sum over losses above epsilon of the tilted mass times e^{-c (loss - epsilon)} (1 -
// e^{epsilon
// - loss}).
double Side::delta(double epsilon) const {
  const double position = std::floor((epsilon - offset_) / spacing_) + 1;
  const double within = std::clamp(position - static_cast<double>(first_), 0.0,
                                   static_cast<double>(near_.size() - 1));
  const auto index = static_cast<std::size_t>(within);
  const double loss = offset_ + spacing_ * (static_cast<double>(first_) + within);
  const double distance = std::max(0.0, loss - epsilon);
  return std::exp(-c_ * distance) * near_[index] - std::exp(-(c_ + 1) * distance) * nearer_[index];
}

class LatticeCurve final : public DeltaCurve {
 public:
  LatticeCurve(const std::vector<LatticePart>& parts, const Tilt& tilt, const Reach& reach,
               double spacing, int log_size);
  [[nodiscard]] DeltaBounds at(double epsilon) const override;

 private:
  void compose(const std::vector<LatticePart>& parts, std::size_t size, double bottom);
  void bound_errors(const std::vector<LatticePart>& parts, const Reach& reach, int log_size);

  double c_;
  double spacing_;
  double infinite_ = 0;
  double error_ = 0;     // of the composed masses, over the error of one transform
  double relative_ = 0;  // rounding of the masses of one release, times the count
  Side upper_;
  Side lower_;
};

LatticeCurve::LatticeCurve(const std::vector<LatticePart>& parts, const Tilt& tilt,
                           const Reach& reach, double spacing, int log_size)
    : c_(tilt.c),
      spacing_(spacing),
      upper_(tilt.c, spacing, std::size_t{1} << log_size),
      lower_(upper_) {
  for (const LatticePart& part : parts) {
    infinite_ += part.count * part.upper.infinite;
    relative_ += part.count * 16 * kUnitRoundoff;
  }
  compose(parts, std::size_t{1} << log_size, tilt.epsilon - reach.below);
  bound_errors(parts, reach, log_size);
}

// Both laws at once: the upper one is the real part of a complex transform, the lower one the
// imaginary part.
void LatticeCurve::compose(const std::vector<LatticePart>& parts, std::size_t size, double bottom) {
  const Fft fft(size);
  std::vector<Complex> values(size);
  for (const LatticePart& part : parts) {
    std::fill(values.begin(), values.end(), Complex(0));
    upper_.place(part.upper, part.count, {1, 0}, values);
    lower_.place(part.lower, part.count, {0, 1}, values);
    double squares = std::pow(upper_.heaviest_error(), 2) + std::pow(lower_.heaviest_error(), 2);
    for (const Complex& value : values) squares += std::norm(value);
    error_ += part.count * std::sqrt(squares);
    fft.forward(values);
    for (std::size_t k = 0; k <= size / 2; ++k) {
      const Complex here = values[k];
      const Complex mirror = std::conj(values[(size - k) & (size - 1)]);
      upper_.compose(k, (here + mirror) * 0.5, part.count);
      lower_.compose(k, (here - mirror) * Complex(0, -0.5), part.count);
    }
  }
  for (std::size_t k = 0; k <= size / 2; ++k) {
    const Complex up = upper_.transform(k);
    const Complex low = lower_.transform(k);
    values[k] = up + Complex(0, 1) * low;
    if (k > 0 && k < size / 2) values[size - k] = std::conj(up) + Complex(0, 1) * std::conj(low);
  }
  fft.inverse(values);
  std::vector<double> masses(size);
  std::transform(values.begin(), values.end(), masses.begin(),
                 [](const Complex& value) { return value.real(); });
  upper_.finish(masses, bottom);
  std::transform(values.begin(), values.end(), masses.begin(),
                 [](const Complex& value) { return value.imag(); });
  lower_.finish(std::move(masses), bottom);
}

void LatticeCurve::bound_errors(const std::vector<LatticePart>& parts, const Reach& reach,
                                int log_size) {
  // A transform errs, in the root of the sum of squares, by a few roundings per level relative to
  // its input; a power multiplies that by its exponent. Weighed with e^{-c d}, by Cauchy's
  // inequality:
  const double error = error_ + upper_.transformed() + lower_.transformed();
  const double rounding =
      4 * kUnitRoundoff * (log_size + 2) * error / std::sqrt(-std::expm1(-2 * c_ * spacing_));
  const auto cumulant = [&](LatticeLaw LatticePart::*law, double c) {
    double total = 0;
    for (const LatticePart& part : parts) total += part.count * (part.*law).cumulant(c, spacing_);
    return total;
  };
  const auto slack = [&](const Side& side, LatticeLaw LatticePart::*law) {
    // Mass outside the window comes back inside, or is missing from it.
    const double top = side.bottom() + spacing_ * (std::ldexp(1.0, log_size) - 1);
    const double above = cumulant(law, c_ + reach.theta_above) - reach.theta_above * top;
    const double below = cumulant(law, c_ - reach.theta_below) + reach.theta_below * side.bottom();
    return rounding + std::exp(above - side.cumulant) + std::exp(below - side.cumulant);
  };
  upper_.slack = slack(upper_, &LatticePart::upper);
  lower_.slack = slack(lower_, &LatticePart::lower);
}

DeltaBounds LatticeCurve::at(double epsilon) const {
  const double upper = std::exp(upper_.cumulant - c_ * epsilon);
  const double lower = std::exp(lower_.cumulant - c_ * epsilon);
  return {.lower = lower * ((1 - relative_) * lower_.delta(epsilon) - lower_.slack),
          .upper = upper * ((1 + relative_) * upper_.delta(epsilon) + upper_.slack) + infinite_};
}

}  // namespace

std::unique_ptr<DeltaCurve> lattice_curve(const Composition& composition, const Tilt& tilt,
                                          const Reach& reach, int log_size) {
  // A little wider than the reach: a lattice spreads the law.
  const double spacing = 1.05 * (reach.below + reach.above) / std::ldexp(1.0, log_size);
  const double lowest_loss = -(reach.below + reach.above);
  std::vector<LatticePart> parts;
  const auto add = [&](const Cells& cells, double count) {
    parts.push_back({upper_law(cells, spacing), lower_law(cells, spacing), count});
  };
  for (const Part& part : composition.parts())
    add(Cells(*part.pair, composition.direction_of(part), composition.cut_of(part), lowest_loss),
        static_cast<double>(part.count));
  if (composition.gaussian() > 0) {
    const GaussianPair all(1, 1 / std::sqrt(composition.gaussian()), 1);
    add(Cells(all, Direction::kRemove, all.cut(composition.negligible()), lowest_loss), 1);
  }
  return std::make_unique<LatticeCurve>(parts, tilt, reach, spacing, log_size);
}

}  // namespace obol::privacy
