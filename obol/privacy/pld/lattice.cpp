#include "obol/privacy/pld/lattice.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "obol/privacy/pld/fft.h"

namespace obol::privacy {
namespace {

using Complex = std::complex<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnitRoundoff = std::numeric_limits<double>::epsilon() / 2;

// P-masses on consecutive lattice points, a part of the law of one release.
struct LatticeLaw {
  double offset = 0;  // point i has the loss offset + (first + i) spacing
  std::int64_t first = 0;
  std::vector<double> masses;
  double infinite = 0;  // P-mass that is not on the lattice

  [[nodiscard]] double loss(std::size_t i, double spacing) const {
    return offset + spacing * static_cast<double>(first + static_cast<std::int64_t>(i));
  }
  // log of the sum of masses times e^{c loss}
  [[nodiscard]] double cumulant(double c, double spacing) const {
    double largest = -kInfinity;
    for (std::size_t i = 0; i < masses.size(); ++i)
      if (masses[i] > 0) largest = std::max(largest, log_term(i, c, spacing));
    double sum = 0;
    for (std::size_t i = 0; i < masses.size(); ++i)
      if (masses[i] > 0) sum += std::exp(log_term(i, c, spacing) - largest);
    return largest + std::log(sum);
  }
  [[nodiscard]] double log_term(std::size_t i, double c, double spacing) const {
    return std::log(masses[i]) + c * loss(i, spacing);
  }
};

struct Bracket {
  LatticeLaw upper;
  LatticeLaw lower;
};

// The law of one release, cell by cell.
class Cells {
 public:
  // Nothing above `cut` and below `lowest_loss` is in any cell; it is in the rest.
  Cells(const Pair& pair, Direction direction, double cut, double lowest_loss)
      : pair_(pair), direction_(direction) {
    if (!pair.has_atoms()) {
      lowest_x_ = pair.ranges(direction, 1, cut).front().low;
      highest_x_ = cut;
    }
    if (direction == Direction::kEither) lowest_x_ = pair.x_at(0);
    if (direction == Direction::kRemove) lowest_x_ = std::max(lowest_x_, pair.x_at(lowest_loss));
    if (direction == Direction::kAdd) highest_x_ = std::min(highest_x_, pair.x_at(-lowest_loss));
    const double low = pair.loss(lowest_x_);
    const double high = pair.loss(highest_x_);
    bottom_ = direction == Direction::kRemove ? low : std::max(-high, lowest_loss);
    top_ = direction == Direction::kAdd ? -low : high;
  }

  [[nodiscard]] double bottom() const { return bottom_; }
  [[nodiscard]] double top() const { return top_; }

  // Masses of the losses in (low, high].
  [[nodiscard]] PairMass between(double low, double high) const {
    PairMass sum{.p = 0, .q = 0};
    if (direction_ == Direction::kRemove) return along(low, high);
    if (direction_ == Direction::kEither && high > 0) sum = along(std::max(0.0, low), high);
    if (direction_ == Direction::kEither && low < 0 && high >= 0) {
      const PairMass above = pair_.mass(lowest_x_, kInfinity);
      const double rest = std::max(0.0, 1 - above.p - above.q);
      sum.p += rest;
      sum.q += rest;
    }
    if (direction_ == Direction::kAdd || low < 0) {
      const double end = direction_ == Direction::kAdd ? high : std::min(0.0, high);
      const PairMass mirrored = along(-end, -low);
      sum.p += mirrored.q;
      sum.q += mirrored.p;
    }
    return sum;
  }

  // P-masses that no cell has: of losses above all of them, and below.
  [[nodiscard]] double rest_above() const {
    return direction_ == Direction::kAdd ? pair_.mass(-kInfinity, lowest_x_).q
                                         : pair_.mass(highest_x_, kInfinity).p;
  }
  [[nodiscard]] double rest_below() const {
    return direction_ == Direction::kRemove ? pair_.mass(-kInfinity, lowest_x_).p
                                            : pair_.mass(highest_x_, kInfinity).q;
  }

 private:
  [[nodiscard]] PairMass along(double low, double high) const {
    return pair_.mass(std::clamp(pair_.x_at(low), lowest_x_, highest_x_),
                      std::clamp(pair_.x_at(high), lowest_x_, highest_x_));
  }

  const Pair& pair_;
  Direction direction_;
  double lowest_x_ = -kInfinity;
  double highest_x_ = kInfinity;
  double bottom_;
  double top_;
};

constexpr double kLargestExponent = 600;

LatticeLaw empty_law(const Cells& cells, double spacing, double offset) {
  LatticeLaw law;
  law.offset = offset;
  law.first = static_cast<std::int64_t>(std::floor((cells.bottom() - offset) / spacing)) - 1;
  const auto last = static_cast<std::int64_t>(std::ceil((cells.top() - offset) / spacing)) + 1;
  law.masses.assign(static_cast<std::size_t>(last - law.first + 1), 0.0);
  return law;
}

LatticeLaw upper_law(const Cells& cells, double spacing) {
  LatticeLaw law = empty_law(cells, spacing, 0);
  for (std::size_t i = 0; i + 1 < law.masses.size(); ++i) {
    const double loss = law.loss(i, spacing);
    const PairMass mass = cells.between(loss, law.loss(i + 1, spacing));
    double above = mass.p;  // goes to the upper end
    if (loss < kLargestExponent) {
      const double odd = mass.p - std::exp(loss) * mass.q;
      above = std::clamp(odd / -std::expm1(-spacing), 0.0, mass.p);
    }
    law.masses[i + 1] += above;
    law.masses[i] += mass.p - above;
  }
  law.masses[0] += cells.rest_below();  // its loss is lower still
  law.infinite = cells.rest_above();
  return law;
}

// The loss of the heaviest cell of the given width, when it is merged into one point.
double heaviest_loss(const Cells& cells, double spacing) {
  const LatticeLaw law = empty_law(cells, spacing, 0);
  double heaviest = 0;
  double centre = 0;
  for (std::size_t i = 0; i < law.masses.size(); ++i) {
    const double loss = law.loss(i, spacing);
    const double mass = cells.between(loss - spacing / 2, loss + spacing / 2).p;
    if (mass <= heaviest) continue;
    heaviest = mass;
    centre = loss;
  }
  double merged = centre;
  for (int i = 0; i < 4; ++i) {  // the cell follows its own loss
    const PairMass mass = cells.between(merged - spacing / 2, merged + spacing / 2);
    if (!(mass.p > 0 && mass.q > 0)) return centre;
    merged = std::log(mass.p / mass.q);
  }
  return std::abs(merged - centre) < spacing ? merged : centre;
}

// The border, between `from` and `to`, at which the cell ending there has P/Q = e^loss, or a little
// more: what is too much is cut off, what is too little could not be merged into the point.
double fitting_border(const Cells& cells, double loss, double other, double from, double to) {
  const bool is_upper = other <= from;
  const auto excess = [&](double border) {
    const PairMass mass = is_upper ? cells.between(other, border) : cells.between(border, other);
    return mass.p - std::exp(loss) * mass.q;
  };
  double near = from;
  double far = to;
  double at_near = excess(near);
  double at_far = excess(far);
  // Outwards the excess of an upper border rises; that of a lower border falls.
  if (is_upper ? at_far < 0 : at_far >= 0) return far;
  if (is_upper ? at_near >= 0 : at_near < 0) return near;
  for (int i = 0; i < 8; ++i) {
    const double middle =
        i % 3 == 2 ? (near + far) / 2
                   : near + (far - near) * std::clamp(at_near / (at_near - at_far), 0.01, 0.99);
    const double at_middle = excess(middle);
    const bool replace_far = is_upper == (at_middle >= 0);
    (replace_far ? far : near) = middle;
    (replace_far ? at_far : at_near) = at_middle;
  }
  return is_upper ? far : near;
}

// The upper border of the cell of a point, from `low` on. Where the mass falls so fast that a usual
// cell is too low for its point, a wider one may do; points that it swallows get nothing.
double upper_border(const Cells& cells, double loss, double low, double spacing) {
  const double usual = loss + 0.9 * spacing;
  if (low >= usual) return low;
  if (loss > kLargestExponent) return std::max(low, loss + spacing / 2);
  const double from = std::max(low, loss);
  const auto fits = [&](double border) {
    const PairMass mass = cells.between(low, border);
    return mass.p >= std::exp(loss) * mass.q;
  };
  double far = usual;
  while (!fits(far)) {
    far += 2 * (far - loss);
    if (far > loss + 100 * spacing) return usual;
  }
  return fitting_border(cells, loss, low, from, far);
}

// Every point takes the cell around it whose P/Q is e^loss, starting from the heaviest: merging is
// post-processing, so the result is dominated. Where no such cell is found, P is cut down to fit
// the point, or the one below it.
LatticeLaw lower_law(const Cells& cells, double spacing) {
  const double heaviest = heaviest_loss(cells, spacing);
  LatticeLaw law = empty_law(cells, spacing, heaviest);
  const auto start = static_cast<std::size_t>(-law.first);
  const std::size_t size = law.masses.size();
  const auto merge = [&](std::size_t i, double low, double high) {
    const double loss = law.loss(i, spacing);
    const PairMass mass = cells.between(low, high);
    if (loss > kLargestExponent) {
      law.masses[i - 1] += mass.p * std::exp(-2 * spacing);
    } else if (std::exp(loss) * mass.q <= mass.p) {
      law.masses[i] += std::exp(loss) * mass.q;
    } else if (i > 0) {
      law.masses[i - 1] += std::min(mass.p, std::exp(loss - spacing) * mass.q);
    }
  };
  const double first_low = heaviest - spacing / 2;
  const double first_high =
      fitting_border(cells, heaviest, first_low, heaviest, heaviest + spacing * 0.9);
  merge(start, first_low, first_high);
  double low = first_high;
  for (std::size_t i = start + 1; i < size; ++i) {
    const double high = upper_border(cells, law.loss(i, spacing), low, spacing);
    merge(i, low, high);
    low = high;
  }
  double high = first_low;
  for (std::size_t i = start; i-- > 0;) {
    const double loss = law.loss(i, spacing);
    const double border = fitting_border(cells, loss, high, loss, loss - 0.9 * spacing);
    merge(i, border, high);
    high = border;
  }
  return law;
}

Bracket bracket_of(const Cells& cells, double spacing) {
  return {upper_law(cells, spacing), lower_law(cells, spacing)};
}

struct LatticePart {
  Bracket bracket;
  double count;
};

// The cumulants of the composed laws, upper and lower.
std::pair<double, double> cumulants(const std::vector<LatticePart>& parts, double c,
                                    double spacing) {
  std::pair<double, double> total{0, 0};
  for (const LatticePart& part : parts) {
    total.first += part.count * part.bracket.upper.cumulant(c, spacing);
    total.second += part.count * part.bracket.lower.cumulant(c, spacing);
  }
  return total;
}

class LatticeCurve final : public DeltaCurve {
 public:
  LatticeCurve(const std::vector<LatticePart>& parts, const Tilt& tilt, const Reach& reach,
               double spacing, int log_size);
  [[nodiscard]] DeltaBounds at(double epsilon) const override;

 private:
  // One of the two bounds. The tilted mass at a point is its mass times e^{c loss - cumulant}.
  struct Side {
    double offset = 0;  // of the lattice of sums
    std::int64_t first = 0;
    double cumulant = 0;
    double slack = 0;  // error of delta over e^{cumulant - c epsilon}
    // Sums over the points from one upwards of the tilted mass times e^{-c d} and e^{-(c+1) d}, d
    // the distance from that one.
    std::vector<double> near;
    std::vector<double> nearer;
  };
  void sum_up(Side& side, const std::vector<Complex>& composed, double (*part)(const Complex&));
  [[nodiscard]] double delta(const Side& side, double epsilon) const;

  double c_;
  double spacing_;
  double infinite_ = 0;
  Side upper_;
  Side lower_;
};

// Adds count * log of the two transforms that one complex transform holds: the upper law was its
// real part, the lower one its imaginary part.
struct LogPower {
  std::vector<double> size;
  std::vector<double> angle;

  void add(std::size_t k, Complex value, double count) {
    size[k] += count * std::log(std::norm(value)) / 2;
    angle[k] += count * std::arg(value);
  }
  [[nodiscard]] Complex at(std::size_t k) const {
    const double radius = std::exp(size[k]);
    return radius > 0 ? std::polar(radius, angle[k]) : Complex(0);
  }
};

// Adds the tilted law to values that wrap around.
void place(const LatticeLaw& law, double c, double spacing, Complex unit,
           std::vector<Complex>& values) {
  const double total = law.cumulant(c, spacing);
  for (std::size_t i = 0; i < law.masses.size(); ++i) {
    if (!(law.masses[i] > 0)) continue;
    const auto index = static_cast<std::size_t>(law.first + static_cast<std::int64_t>(i));
    values[index & (values.size() - 1)] += unit * std::exp(law.log_term(i, c, spacing) - total);
  }
}

LatticeCurve::LatticeCurve(const std::vector<LatticePart>& parts, const Tilt& tilt,
                           const Reach& reach, double spacing, int log_size)
    : c_(tilt.c), spacing_(spacing) {
  const std::size_t size = std::size_t{1} << log_size;
  const Fft fft(size);
  const std::size_t half = size / 2 + 1;
  LogPower upper{std::vector<double>(half), std::vector<double>(half)};
  LogPower lower = upper;
  std::vector<Complex> values(size);
  double error = 1;  // of the composed masses, over the error of one transform
  for (const LatticePart& part : parts) {
    infinite_ += part.count * part.bracket.upper.infinite;
    lower_.offset += part.count * part.bracket.lower.offset;
    std::fill(values.begin(), values.end(), Complex(0));
    place(part.bracket.upper, c_, spacing, {1, 0}, values);
    place(part.bracket.lower, c_, spacing, {0, 1}, values);
    double squares = 0;
    for (const Complex& value : values) squares += std::norm(value);
    error += part.count * std::sqrt(squares);
    fft.forward(values);
    for (std::size_t k = 0; k < half; ++k) {
      const Complex here = values[k];
      const Complex mirror = std::conj(values[(size - k) & (size - 1)]);
      upper.add(k, (here + mirror) * 0.5, part.count);
      lower.add(k, (here - mirror) * Complex(0, -0.5), part.count);
    }
  }
  for (std::size_t k = 0; k < half; ++k) {
    const Complex up = upper.at(k);
    const Complex low = lower.at(k);
    values[k] = up + Complex(0, 1) * low;
    if (k > 0 && k < size / 2) values[size - k] = std::conj(up) + Complex(0, 1) * std::conj(low);
  }
  fft.inverse(values);

  // A transform errs, in the root of the sum of squares, by a few roundings per level relative to
  // its input; a power multiplies that by its exponent. Weighed with e^{-c d}, by Cauchy's
  // inequality:
  const double rounding =
      4 * kUnitRoundoff * (log_size + 2) * error / std::sqrt(-std::expm1(-2 * c_ * spacing));
  for (Side* side : {&upper_, &lower_})
    side->first = static_cast<std::int64_t>(
        std::floor((tilt.epsilon - reach.below - side->offset) / spacing));
  std::tie(upper_.cumulant, lower_.cumulant) = cumulants(parts, c_, spacing);
  const auto [up_above, low_above] = cumulants(parts, c_ + reach.theta_above, spacing);
  const auto [up_below, low_below] = cumulants(parts, c_ - reach.theta_below, spacing);
  const auto wrapped = [&](const Side& side, double above, double below) {
    // Mass outside the window comes back inside, or is missing from it.
    const double bottom = side.offset + spacing * static_cast<double>(side.first);
    const double top = bottom + spacing * (static_cast<double>(size) - 1);
    return std::exp(above - side.cumulant - reach.theta_above * top) +
           std::exp(below - side.cumulant + reach.theta_below * bottom);
  };
  upper_.slack = rounding + wrapped(upper_, up_above, up_below);
  lower_.slack = rounding + wrapped(lower_, low_above, low_below);
  sum_up(upper_, values, [](const Complex& value) { return value.real(); });
  sum_up(lower_, values, [](const Complex& value) { return value.imag(); });
}

void LatticeCurve::sum_up(Side& side, const std::vector<Complex>& composed,
                          double (*part)(const Complex&)) {
  const std::size_t size = composed.size();
  side.near.assign(size + 1, 0.0);
  side.nearer.assign(size + 1, 0.0);
  const double factor = std::exp(-c_ * spacing_);
  const double smaller_factor = std::exp(-(c_ + 1) * spacing_);
  for (std::size_t i = size; i-- > 0;) {
    const auto index = static_cast<std::size_t>(side.first + static_cast<std::int64_t>(i));
    const double mass = part(composed[index & (size - 1)]);
    side.near[i] = mass + factor * side.near[i + 1];
    side.nearer[i] = mass + smaller_factor * side.nearer[i + 1];
  }
}

// Over e^{cumulant - c epsilon}: the sum over losses above epsilon of the tilted mass times
// e^{-c (loss - epsilon)} (1 - e^{epsilon - loss}).
double LatticeCurve::delta(const Side& side, double epsilon) const {
  const double position = std::floor((epsilon - side.offset) / spacing_) + 1;
  const double within = std::clamp(position - static_cast<double>(side.first), 0.0,
                                   static_cast<double>(side.near.size() - 1));
  const auto index = static_cast<std::size_t>(within);
  const double loss = side.offset + spacing_ * (static_cast<double>(side.first) + within);
  const double distance = std::max(0.0, loss - epsilon);
  return std::exp(-c_ * distance) * side.near[index] -
         std::exp(-(c_ + 1) * distance) * side.nearer[index];
}

DeltaBounds LatticeCurve::at(double epsilon) const {
  const double upper = delta(upper_, epsilon) + upper_.slack;
  const double lower = delta(lower_, epsilon) - lower_.slack;
  return {.lower = std::exp(lower_.cumulant - c_ * epsilon) * lower,
          .upper = std::exp(upper_.cumulant - c_ * epsilon) * upper + infinite_};
}

}  // namespace

std::unique_ptr<DeltaCurve> lattice_curve(const Composition& composition, const Tilt& tilt,
                                          const Reach& reach, int log_size) {
  const double size = std::ldexp(1.0, log_size);
  // A little wider than the reach: a lattice spreads the law.
  const double spacing = 1.05 * (reach.below + reach.above) / size;
  const double lowest_loss = -2 * (reach.below + reach.above);
  std::vector<LatticePart> parts;
  for (const Part& part : composition.parts())
    parts.push_back({bracket_of(Cells(*part.pair, composition.direction_of(part),
                                      composition.cut_of(part), lowest_loss),
                                spacing),
                     static_cast<double>(part.count)});
  if (composition.gaussian() > 0) {
    const GaussianPair all(1, 1 / std::sqrt(composition.gaussian()), 1);
    const Cells cells(all, Direction::kRemove, all.cut(composition.negligible()), lowest_loss);
    parts.push_back({bracket_of(cells, spacing), 1});
  }
  return std::make_unique<LatticeCurve>(parts, tilt, reach, spacing, log_size);
}

}  // namespace obol::privacy
