// The law of one release on a lattice of losses, from above and from below.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "obol/privacy/pld/pair.h"

namespace obol::privacy {

// P-masses on consecutive lattice points, a part of the law of one release.
struct LatticeLaw {
  double offset = 0;  // point i has the loss offset + (first + i) spacing
  std::int64_t first = 0;
  std::vector<double> masses;
  double infinite = 0;  // P-mass that is not on the lattice

  [[nodiscard]] double loss(std::size_t i, double spacing) const {
    return offset + spacing * static_cast<double>(first + static_cast<std::int64_t>(i));
  }
  // log of the mass of a point times e^{c loss}, and of the sum of them all.
  [[nodiscard]] double log_term(std::size_t i, double c, double spacing) const;
  [[nodiscard]] double cumulant(double c, double spacing) const;
};

// The law of one release, cell by cell.
class Cells {
 public:
  // Nothing above `cut` and below `lowest_loss` is in any cell; it is in the rest.
  Cells(const Pair& pair, Direction direction, double cut, double lowest_loss);

  [[nodiscard]] double bottom() const { return bottom_; }
  [[nodiscard]] double top() const { return top_; }

  // Masses of the losses in (low, high].
  [[nodiscard]] PairMass between(double low, double high) const;

  // P-masses that no cell has: of losses above all of them, and below.
  [[nodiscard]] double rest_above() const;
  [[nodiscard]] double rest_below() const;

 private:
  [[nodiscard]] PairMass along(double low, double high) const;

  const Pair& pair_;
  Direction direction_;
  double lowest_x_ = -std::numeric_limits<double>::infinity();
  double highest_x_ = std::numeric_limits<double>::infinity();
  double bottom_;
  double top_;
};

// The smallest law on the lattice that dominates: every cell's mass goes to its two ends such that
// both the P- and the Q-mass are kept ("connect the dots", Doroshenko et al. 2022).
LatticeLaw upper_law(const Cells& cells, double spacing);

// A law that is dominated: every point takes the cell around it whose P/Q is e^loss, starting from
// the heaviest, and merging is post-processing. Where no such cell is found, P is cut down to fit
// the point, or the one below it.
LatticeLaw lower_law(const Cells& cells, double spacing);

}  // namespace obol::privacy
