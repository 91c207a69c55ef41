#include "obol/privacy/noise_testing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>

#include <fmt/format.h>

namespace obol::privacy::testing {
namespace {

constexpr double kFarOut = 7.0;      // a standard normal is beyond with probability 2.6e-12
constexpr double kFarExponent = 28;  // 2 exp(-28) = 1.4e-12

double normal_above(double x) { return 0.5 * std::erfc(x / std::sqrt(2.0)); }
double laplace_above(double x) { return 0.5 * std::exp(-x); }

double square(double x) { return x * x; }

class Battery {
 public:
  Battery(std::span<const double> draws, const Law& law)
      : draws_(draws), law_(law), count_(static_cast<double>(draws.size())) {}

  std::vector<std::string> faults() {
    moments();
    tails();
    bins();
    distances();
    for (const std::size_t lag : {1, 2, 3, 4, 7, 8, 16, 511, 512, 513, 1023, 1024, 1025, 2048})
      lagged(lag);
    pairs();
    repetitions();
    return std::move(faults_);
  }

 private:
  [[nodiscard]] double below(double x) const {
    return x < 0 ? law_.mass_above(-x) : 1 - law_.mass_above(x);
  }

  // `total` is a sum of `terms` independent terms of that variance, less its expectation.
  void check_sum(const std::string& what, double total, double variance, double terms) {
    const double z = total / std::sqrt(variance * terms);
    if (!(std::abs(z) < kFarOut)) faults_.push_back(fmt::format("{}: z = {:.1f}", what, z));
  }

  // Chernoff: a binomial's share lies s away with probability at most exp(-n KL(s, p)).
  void check_count(const std::string& what, double seen, double p) {
    const double share = seen / count_;
    const double divergence = (share > 0 ? share * std::log(share / p) : 0) +
                              (share < 1 ? (1 - share) * std::log((1 - share) / (1 - p)) : 0);
    if (!(count_ * divergence < kFarExponent))
      faults_.push_back(fmt::format("{}: {} seen, {:.1f} expected", what, seen, count_ * p));
  }

  // Laurent and Massart 2000, lemma 1.
  void check_chi_square(const std::string& what, double value, double degrees) {
    const double spread = 2 * std::sqrt(degrees * kFarExponent);
    if (!(value > degrees - spread && value < degrees + spread + 2 * kFarExponent))
      faults_.push_back(fmt::format("{}: {:.0f} with {} degrees of freedom", what, value, degrees));
  }

  void moments() {
    std::array<double, 4> sums{};
    for (const double x : draws_) {
      sums[0] += x;
      sums[1] += x * x;
      sums[2] += x * x * x;
      sums[3] += square(x * x);
    }
    check_sum("mean", sums[0], law_.second_moment, count_);
    check_sum("variance", sums[1] - count_ * law_.second_moment,
              law_.fourth_moment - square(law_.second_moment), count_);
    check_sum("third moment", sums[2], law_.sixth_moment, count_);
    check_sum("fourth moment", sums[3] - count_ * law_.fourth_moment,
              law_.eighth_moment - square(law_.fourth_moment), count_);
  }

  void tails() {
    const double unit = std::sqrt(law_.second_moment);
    for (int i = 1; i <= 10; ++i) {
      const double x = 0.5 * i * unit;
      const double p = law_.mass_above(x);
      const auto above =
          std::count_if(draws_.begin(), draws_.end(), [&](double d) { return d > x; });
      const auto under =
          std::count_if(draws_.begin(), draws_.end(), [&](double d) { return d < -x; });
      check_count(fmt::format("above {} deviations", 0.5 * i), static_cast<double>(above), p);
      check_count(fmt::format("below {} deviations", -0.5 * i), static_cast<double>(under), p);
    }
  }

  [[nodiscard]] std::size_t bin_of(double x, std::size_t bins) const {
    const auto bin = static_cast<std::size_t>(below(x) * static_cast<double>(bins));
    return std::min(bin, bins - 1);
  }

  void bins() {
    constexpr std::size_t kBins = 1000;
    std::vector<double> counts(kBins);
    for (const double x : draws_) ++counts[bin_of(x, kBins)];
    check_chi_square("bins", chi_square(counts, count_ / kBins), kBins - 1);
  }

  static double chi_square(const std::vector<double>& counts, double expected) {
    return std::accumulate(counts.begin(), counts.end(), 0.0, [&](double sum, double seen) {
      return sum + square(seen - expected) / expected;
    });
  }

  // Kolmogorov and Smirnov's distance, with Massart's constant (1990).
  void distances() {
    std::vector<double> sorted(draws_.begin(), draws_.end());
    std::sort(sorted.begin(), sorted.end());
    double most = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const double p = below(sorted[i]);
      most = std::max(
          {most, p - static_cast<double>(i) / count_, static_cast<double>(i + 1) / count_ - p});
    }
    if (!(2 * count_ * most * most < kFarExponent))
      faults_.push_back(fmt::format("distribution function: off by {:.2g}", most));
  }

  void lagged(std::size_t lag) {
    double products = 0;
    double squares = 0;
    for (std::size_t i = lag; i < draws_.size(); ++i) {
      products += draws_[i] * draws_[i - lag];
      squares +=
          (square(draws_[i]) - law_.second_moment) * (square(draws_[i - lag]) - law_.second_moment);
    }
    const auto terms = static_cast<double>(draws_.size() - lag);
    check_sum(fmt::format("correlation at lag {}", lag), products, square(law_.second_moment),
              terms);
    check_sum(fmt::format("correlation of squares at lag {}", lag), squares,
              square(law_.fourth_moment - square(law_.second_moment)), terms);
  }

  // Draws 2i and 2i + 1 come out of the same two words.
  void pairs() {
    constexpr std::size_t kBins = 32;
    std::vector<double> counts(kBins * kBins);
    for (std::size_t i = 0; i + 1 < draws_.size(); i += 2)
      ++counts[bin_of(draws_[i], kBins) * kBins + bin_of(draws_[i + 1], kBins)];
    check_chi_square("pairs", chi_square(counts, count_ / 2 / (kBins * kBins)), kBins * kBins - 1);
  }

  // Four draws in a row have more than 90 bits, even on the grid of noise.h.
  void repetitions() {
    std::vector<std::array<double, 4>> rows(draws_.size() / 4);
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::copy_n(draws_.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, rows[i].begin());
    std::sort(rows.begin(), rows.end());
    if (std::adjacent_find(rows.begin(), rows.end()) != rows.end())
      faults_.emplace_back("repetitions: four draws in a row come twice");
  }

  std::span<const double> draws_;
  const Law& law_;
  double count_;
  std::vector<std::string> faults_;
};

}  // namespace

const Law kNormal = {normal_above, 1, 3, 15, 105};
const Law kLaplace = {laplace_above, 2, 24, 720, 40320};

std::vector<std::string> faults_of(std::span<const double> draws, const Law& law) {
  return Battery(draws, law).faults();
}

}  // namespace obol::privacy::testing
