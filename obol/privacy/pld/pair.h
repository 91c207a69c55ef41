// A pair of distributions on a line, P against Q, that is the worst case of a mechanism: whoever
// looks at its output can tell two neighbouring data sets apart no better than P from Q.
//
//   GaussianPair pair(/*sampling_rate=*/0.01, /*sigma=*/0.8, /*group_size=*/1);
//   pair.loss(0.5)   // log dP/dQ there: the privacy loss; it never falls with x, and is convex
//
// Guarantee: for Poisson sampling at rate q and noise sigma (over the sensitivity), Q = N(0,
// sigma^2) and P = (1-q) Q + q N(1, sigma^2) dominate removing one record, Q against P adding one
// (Zhu, Dong and Wang 2022, theorem 11); a group of k has P = sum_j Binomial(k, q)(j) N(j, sigma^2)
// (Ganesh 2024). The Laplace pair has Laplace distributions of scale b in their place, for single
// records. Randomised response with k answers has three points: the one person's true answer, the
// other's, and all the rest, about which both say the same.
#pragma once

#include <limits>
#include <vector>

namespace obol::privacy {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Which of two neighbouring data sets is the larger. kEither is the law of one of K shards under
// replacement: the remove law for losses above zero, its mirror below, and the rest at zero.
enum class Direction { kRemove, kAdd, kEither };

struct PairMass {
  double p;
  double q;
};

// Where the loss is smooth, and how wide a panel may be there so that 16 Gauss-Legendre points
// integrate it to rounding.
struct SmoothRange {
  double low;
  double high;
  double width;
};

class Pair {
 public:
  Pair() = default;
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  virtual ~Pair() = default;

  [[nodiscard]] virtual double loss(double x) const = 0;
  [[nodiscard]] virtual double slope(double x) const = 0;
  // Where the loss is reached; -infinity below its range, +infinity above.
  [[nodiscard]] virtual double x_at(double loss) const = 0;
  [[nodiscard]] virtual double log_density(double x) const = 0;  // of Q
  [[nodiscard]] virtual PairMass mass(double low, double high) const = 0;

  // What matters for moments up to `order` of dP/dQ (kRemove) or dQ/dP (kAdd), but nothing above
  // `cut`.
  [[nodiscard]] virtual std::vector<SmoothRange> ranges(Direction direction, double order,
                                                        double cut) const = 0;
  // The smallest x (nearly) with a P-mass of at most `mass` above it.
  [[nodiscard]] double cut(double mass) const;

  // Where the loss is constant beyond the ranges: x < first range, x > last range are atoms.
  [[nodiscard]] virtual bool has_atoms() const = 0;
};

class GaussianPair final : public Pair {
 public:
  GaussianPair(double sampling_rate, double sigma, int group_size);
  [[nodiscard]] double loss(double x) const override;
  [[nodiscard]] double slope(double x) const override;
  [[nodiscard]] double x_at(double loss) const override;
  [[nodiscard]] double log_density(double x) const override;
  [[nodiscard]] PairMass mass(double low, double high) const override;
  [[nodiscard]] std::vector<SmoothRange> ranges(Direction direction, double order,
                                                double cut) const override;
  [[nodiscard]] bool has_atoms() const override { return false; }

 private:
  [[nodiscard]] double exponent(int hits, double x) const;

  double rate_;
  double sigma_;
  int group_size_;
  std::vector<double> weights_;  // of 0, 1, ... group_size hits
  std::vector<double> log_weights_;
};

class LaplacePair final : public Pair {
 public:
  LaplacePair(double sampling_rate, double scale);
  [[nodiscard]] double loss(double x) const override;
  [[nodiscard]] double slope(double x) const override;
  [[nodiscard]] double x_at(double loss) const override;
  [[nodiscard]] double log_density(double x) const override;
  [[nodiscard]] PairMass mass(double low, double high) const override;
  [[nodiscard]] std::vector<SmoothRange> ranges(Direction direction, double order,
                                                double cut) const override;
  [[nodiscard]] bool has_atoms() const override { return true; }

 private:
  double rate_;
  double scale_;
};

class ResponsePair final : public Pair {
 public:
  ResponsePair(double epsilon, double classes);
  [[nodiscard]] double loss(double x) const override;
  [[nodiscard]] double slope(double /*x*/) const override { return 0; }
  [[nodiscard]] double x_at(double loss) const override;
  [[nodiscard]] double log_density(double x) const override;
  [[nodiscard]] PairMass mass(double low, double high) const override;
  [[nodiscard]] std::vector<SmoothRange> ranges(Direction direction, double order,
                                                double cut) const override;
  [[nodiscard]] bool has_atoms() const override { return true; }

 private:
  double epsilon_;
  double likely_;    // the true answer
  double unlikely_;  // one other answer
};

}  // namespace obol::privacy
