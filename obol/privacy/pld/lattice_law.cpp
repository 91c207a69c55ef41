#include "obol/privacy/pld/lattice_law.h"

#include <algorithm>
#include <cmath>

namespace obol::privacy {
namespace {

constexpr double kLargestLoss = 600;

LatticeLaw empty_law(const Cells& cells, double spacing, double offset) {
  LatticeLaw law;
  law.offset = offset;
  law.first = static_cast<std::int64_t>(std::floor((cells.bottom() - offset) / spacing)) - 1;
  const auto last = static_cast<std::int64_t>(std::ceil((cells.top() - offset) / spacing)) + 1;
  law.masses.assign(static_cast<std::size_t>(last - law.first + 1), 0.0);
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
  if (loss > kLargestLoss) return std::max(low, loss + spacing / 2);
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

}  // namespace

double LatticeLaw::log_term(std::size_t i, double c, double spacing) const {
  return std::log(masses[i]) + c * loss(i, spacing);
}

double LatticeLaw::cumulant(double c, double spacing) const {
  double largest = -kInfinity;
  for (std::size_t i = 0; i < masses.size(); ++i)
    if (masses[i] > 0) largest = std::max(largest, log_term(i, c, spacing));
  double sum = 0;
  for (std::size_t i = 0; i < masses.size(); ++i)
    if (masses[i] > 0) sum += std::exp(log_term(i, c, spacing) - largest);
  return largest + std::log(sum);
}

Cells::Cells(const Pair& pair, Direction direction, double cut, double lowest_loss)
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

PairMass Cells::between(double low, double high) const {
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

double Cells::rest_above() const {
  return direction_ == Direction::kAdd ? pair_.mass(-kInfinity, lowest_x_).q
                                       : pair_.mass(highest_x_, kInfinity).p;
}

double Cells::rest_below() const {
  return direction_ == Direction::kRemove ? pair_.mass(-kInfinity, lowest_x_).p
                                          : pair_.mass(highest_x_, kInfinity).q;
}

PairMass Cells::along(double low, double high) const {
  return pair_.mass(std::clamp(pair_.x_at(low), lowest_x_, highest_x_),
                    std::clamp(pair_.x_at(high), lowest_x_, highest_x_));
}

LatticeLaw upper_law(const Cells& cells, double spacing) {
  LatticeLaw law = empty_law(cells, spacing, 0);
  for (std::size_t i = 0; i + 1 < law.masses.size(); ++i) {
    const double loss = law.loss(i, spacing);
    const PairMass mass = cells.between(loss, law.loss(i + 1, spacing));
    double above = mass.p;  // goes to the upper end
    if (loss < kLargestLoss) {
      const double odd = mass.p - std::exp(loss) * mass.q;
      above = std::clamp(odd / -std::expm1(-spacing), 0.0, mass.p);
    }
    law.masses[i + 1] += above;
    law.masses[i] += mass.p - above;
  }
  law.masses[2] += cells.rest_below();  // the first point that is not below the bottom
  law.infinite = cells.rest_above();
  return law;
}

LatticeLaw lower_law(const Cells& cells, double spacing) {
  const double heaviest = heaviest_loss(cells, spacing);
  LatticeLaw law = empty_law(cells, spacing, heaviest);
  const auto start = static_cast<std::size_t>(-law.first);
  const std::size_t size = law.masses.size();
  const auto merge = [&](std::size_t i, double low, double high) {
    const double loss = law.loss(i, spacing);
    const PairMass mass = cells.between(low, high);
    if (loss > kLargestLoss) {
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

}  // namespace obol::privacy
