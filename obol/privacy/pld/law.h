// The law of the privacy loss of one release, as points with masses that integrate smooth functions
// of the loss to rounding: moments at any real order, characteristic functions of tilted laws.
//
//   Law law(pair, Direction::kRemove, /*highest_order=*/64, /*cut=*/20);
//   law.log_moment(8.0)        // log E_Q[(dP/dQ)^8] = 7 times the Renyi divergence of order 8
//   law.tilted(8.0)            // the same law under the density (dP/dQ)^8 / E_Q[(dP/dQ)^8]
//
// Everything is kept as an excess over 1 (E_Q[r^a] - 1 = E_Q[r^a - 1 - a (r - 1)], a positive
// integrand), because a release that costs 1e-12 may be repeated 10^8 times.
#pragma once

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "obol/privacy/pld/pair.h"

namespace obol::privacy {

// A sum whose rounding does not grow with the number of terms (Neumaier 1974).
class CompensatedSum {
 public:
  CompensatedSum& operator+=(double term) {
    const double sum = sum_ + term;
    const bool is_larger = std::abs(sum_) >= std::abs(term);
    rest_ += is_larger ? (sum_ - sum) + term : (term - sum) + sum_;
    sum_ = sum;
    return *this;
  }
  [[nodiscard]] double value() const { return sum_ + rest_; }

 private:
  double sum_ = 0;
  double rest_ = 0;
};

// log(1 + e^x)
double log_one_plus_exp(double x);

struct TiltedLaw {
  std::vector<double> losses;
  std::vector<double> masses;
  double mean = 0;

  // E[e^{i t loss}] - 1 - i t mean, accurate relative to itself. The masses may sum to less than 1:
  // the rest has no loss.
  [[nodiscard]] std::complex<double> excess(double t) const;

  // A bound that holds for every u >= t: log |E[e^{i u loss}]| <= -decay(t). The law contains
  // uniform pieces (a lower bound of its density on an interval), whose transforms are sines over
  // their arguments.
  struct Piece {
    double length;
    double mass;
  };
  std::vector<Piece> pieces;
  [[nodiscard]] double decay(double t) const;
};

// Up to which frequency, and under which tilt, characteristic functions must be right; where the
// tilted density is below e^faintest nobody looks. By default only smooth orders are: those that
// change little over a panel.
struct Resolution {
  double frequency = 0;
  double order = 1;
  double faintest = std::numeric_limits<double>::infinity();
};

class Law {
 public:
  // Moments are right up to highest_order. What lies above `cut` is left out; its P-mass, with that
  // of the negligible rest, is lost().
  Law(const Pair& pair, Direction direction, double highest_order, double cut,
      const Resolution& resolution = {});

  [[nodiscard]] double highest_order() const { return highest_order_; }
  [[nodiscard]] double lost() const { return lost_; }
  // Mass that no point has, under P and Q together.
  [[nodiscard]] double outside() const { return outside_; }
  [[nodiscard]] std::size_t size() const { return losses_.size(); }
  // log(E_Q[r^order] - 1), log E_Q[r^order]; order > 1.
  [[nodiscard]] double log_moment_less_one(double order) const;
  [[nodiscard]] double log_moment(double order) const {
    return log_one_plus_exp(log_moment_less_one(order));
  }
  // Points lighter than `lightest` are left out.
  [[nodiscard]] TiltedLaw tilted(double order, double lightest) const;

 private:
  // On a piece of the line the log of the tilted density is at least `order * loss + log_density`
  // at one of its ends.
  struct End {
    double log_density;
    double loss;
  };
  struct Piece {
    double length;       // in losses
    double log_stretch;  // of that length over the steepest slope
    End low;
    End high;
  };
  void add_range(const Pair& pair, Direction direction, const SmoothRange& range,
                 const Resolution& resolution);
  void add_point(double loss, double log_mass, Direction direction);
  void add_piece(const Pair& pair, Direction direction, double low, double high);

  double highest_order_;
  double lost_ = 0;
  double outside_ = 0;
  std::vector<double> losses_;
  std::vector<double> log_masses_;  // under Q
  std::vector<Piece> pieces_;
};

}  // namespace obol::privacy
