#include "obol/privacy/rdp.h"

#include <algorithm>
#include <cmath>

#include "obol/privacy/pld/law.h"
#include "obol/privacy/pld/pair.h"
#include "obol/privacy/search.h"

namespace obol::privacy {
namespace {

// Rounding of a few operations, with functions of the C library that are off by some units in the
// last place: 2^-53 is 1.1e-16. Differences of rounded numbers carry it outwards where they are
// made.
constexpr double kOutward = 4e-15;

double log_add(double a, double b) {
  const double high = std::max(a, b);
  return high == -kInfinity ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

void check_order(double order) {
  if (!(order > 1) || !std::isfinite(order))
    throw InvalidArgument(violation("the order", "finite and above 1", order));
}

// Of the release's law in the given direction.
double law_rdp(const Pair& pair, Direction direction, double order) {
  return Law(pair, direction, order, kInfinity).log_moment(order) / (order - 1);
}

double gaussian_rdp(double sigma, double order) { return order / (2 * sigma * sigma); }

double log_binomial(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

template <class Function>
double best_whole_order(const Function& value) {
  constexpr double kHighest = 1e4;
  double order = 2;
  while (order < kHighest && value(order + 1) < value(order)) ++order;
  return order;
}

}  // namespace

double rdp(const SampledGaussian& event, double order) {
  check_order(order);
  if (event.sampling_rate == 1) return gaussian_rdp(event.noise_multiplier, order);
  // Removing a record is the worse direction at every order (Mironov, Talwar and Zhang 2019,
  // theorem 5).
  const GaussianPair pair(event.sampling_rate, event.noise_multiplier, 1);
  // Sampling never costs privacy, whatever rounding says.
  return std::min(law_rdp(pair, Direction::kRemove, order),
                  gaussian_rdp(event.noise_multiplier, order));
}

double rdp(const ShardGaussian& event, double order) {
  check_order(order);
  if (event.sampling_rate == 1) return gaussian_rdp(event.noise_multiplier, order);
  const GaussianPair pair(event.sampling_rate, event.noise_multiplier, 1);
  return law_rdp(pair, Direction::kEither, order);
}

double rdp(const SampledLaplace& event, double order) {
  check_order(order);
  const LaplacePair pair(event.sampling_rate, event.scale);
  return std::max(law_rdp(pair, Direction::kRemove, order), law_rdp(pair, Direction::kAdd, order));
}

double rdp(const Gaussian& event, double order) {
  check_order(order);
  return gaussian_rdp(event.noise_multiplier, order);
}

double rdp(const LocalGaussian& event, double order) {
  return rdp(Gaussian{event.noise_multiplier, event.count}, order);
}

double rdp(const LocalLaplace& event, double order) {
  return rdp(Laplace{event.scale, event.count}, order);
}

double rdp(const LocalRandomizedResponse& event, double order) {
  check_order(order);
  // log of (e^{order epsilon} + e^{(1-order) epsilon} + classes - 2) / (e^epsilon + classes - 1).
  const double e = event.epsilon;
  const double others = std::log(static_cast<double>(event.classes) - 1);
  const double neither =
      event.classes > 2 ? std::log(static_cast<double>(event.classes) - 2) : -kInfinity;
  const double log_sum = log_add(log_add(order * e, (1 - order) * e), neither);
  const double log_total = log_add(e, others);
  // Both logarithms are rounded, and little may be left of their difference.
  const double rounding = kOutward * (1 + std::abs(log_sum) + std::abs(log_total));
  return std::max(0.0, (log_sum - log_total + rounding) / (order - 1));
}

double rdp(const Laplace& event, double order) {
  check_order(order);
  // Mironov 2017, proposition 6, with the common factor e^{(order-1)/b} taken out.
  const double b = event.scale;
  const double odds = 2 * order - 1;
  // shares = 1 - (order-1)/odds * (1 - e^{-odds/b}), written so that large b loses nothing.
  const double log_shares = std::log1p((order - 1) / odds * std::expm1(-odds / b));
  const double rounding = kOutward * (1 / b + std::abs(log_shares) / (order - 1));
  return std::max(0.0, 1 / b + log_shares / (order - 1) + rounding);
}

double rdp(const FixedBatchGaussian& event, double order) {
  check_order(order);
  const double sigma = event.noise_multiplier;
  const double whole = std::max(2.0, std::ceil(order));
  const double log_rate = std::log(event.sampling_rate);
  // The term of second order: min(4 (e^r - 1), 2 e^r), r the divergence of order 2.
  const double r = gaussian_rdp(sigma, 2);
  const double log_expm1_r = r + std::log(-std::expm1(-r));
  const double second = std::min(std::log(4.0) + log_expm1_r, std::log(2.0) + r);
  double log_sum = 2 * log_rate + log_binomial(whole, 2) + second;
  const auto last = static_cast<std::int64_t>(whole);
  for (std::int64_t k = 3; k <= last; ++k) {
    const auto j = static_cast<double>(k);
    log_sum = log_add(log_sum, j * log_rate + log_binomial(whole, j) +
                                   (j - 1) * gaussian_rdp(sigma, j) + std::log(2.0));
  }
  // What the logarithm of any term may be off, and that of a sum of so many.
  log_sum += kOutward * (whole + std::lgamma(whole + 1) + whole * std::abs(log_rate) +
                         whole * gaussian_rdp(sigma, whole));
  return std::min(log_one_plus_exp(log_sum) / (whole - 1), gaussian_rdp(sigma, order));
}

double epsilon_of(double rdp, double order, Delta delta, Conversion conversion) {
  if (delta.value() == 0) throw InvalidArgument(violation("delta", "positive for RDP", 0));
  const double classic = rdp - std::log(delta.value()) / (order - 1);
  if (conversion == Conversion::kClassic) return classic;
  return std::max(0.0, classic + std::log1p(-1 / order) - std::log(order) / (order - 1));
}

void RdpAccountant::compose(const Event& event) {
  check(event);
  for (const Event& before : events_)
    common_neighbours(neighbours_of(before), neighbours_of(event));
  events_.push_back(event);
}

double RdpAccountant::rdp(double order) const {
  check_order(order);
  double total = 0;
  for (const Event& event : events_)
    total += std::visit(
        [&](const auto& one) -> double {
          return one.count == 0 ? 0.0 : static_cast<double>(one.count) * privacy::rdp(one, order);
        },
        event);
  return total;
}

RdpEpsilon RdpAccountant::epsilon(Delta delta, Conversion conversion) const {
  const auto value = [&](double order) { return epsilon_of(rdp(order), order, delta, conversion); };
  // (order - 1) times the bound is convex in the order (a cumulant generating function, plus convex
  // terms), so the bound itself is quasi-convex and a local minimum is the minimum. Any order would
  // do for validity.
  const bool is_whole = std::any_of(events_.begin(), events_.end(), [](const Event& event) {
    return std::holds_alternative<FixedBatchGaussian>(event);
  });
  const double order = is_whole
                           ? best_whole_order(value)
                           : 1 + minimize([&](double above_one) { return value(1 + above_one); },
                                          {.start = 1, .lowest = 1e-8, .highest = 1e7});
  // Upwards, by more than all its terms together are off: integrals by 5e-15 of themselves
  // (measured against 50 digits), sums by 1.1e-16 for each event.
  const double margin = 1e-13 + 0x1p-52 * static_cast<double>(events_.size());
  const double terms = rdp(order) + (std::log(order) - std::log(delta.value())) / (order - 1) -
                       std::log1p(-1 / order);
  return {.epsilon = value(order) + (rdp(order) > 0 ? margin * terms : 0), .order = order};
}

}  // namespace obol::privacy
