#include "obol/privacy/rdp.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

namespace obol::privacy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  const double high = std::max(a, b);
  return high == -kInfinity ? high : high + std::log1p(std::exp(std::min(a, b) - high));
}

// log(1 + e^x)
double log_one_plus_exp(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

void check_order(double order) {
  if (!(order > 1) || !std::isfinite(order))
    throw InvalidArgument(violation("the order", "finite and above 1", order));
}

// log of (1+u)^order - 1 - order u, which is positive for u > -1, u != 0, order > 1.
// `log_one_plus_u` is given because u itself may overflow.
double log_excess(double u, double log_one_plus_u, double order) {
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
  const double log_power = order * log_one_plus_u;
  if (log_power > 30 && std::isfinite(u))
    return log_power + std::log1p(-std::exp(std::log1p(order * u) - log_power));
  if (log_power > 30) return log_power;
  // Both terms fall with order - 1, so that little cancels near order 1.
  return std::log(std::exp(log_one_plus_u) * std::expm1((order - 1) * log_one_plus_u) -
                  (order - 1) * u);
}

// log E[(1+u)^order - 1] under x ~ N(0, sigma^2), u = q (e^t - 1), t = (2x - 1)/(2 sigma^2): the
// moment of the likelihood ratio of the sampled Gaussian, less one.
//
// E[u] = 0, so order * u may be subtracted inside; what is left is positive everywhere, and nothing
// cancels however small the result is. The trapezoidal rule converges geometrically: the integrand
// is a Gaussian times a function analytic for |Im x| < pi sigma^2 (there 1 + u = 0 when q = 1/2 or
// more), so a step of h leaves a relative error of about exp(-2 pi^2 sigma^2 / h).
double log_moment_less_one(double q, double sigma, double order) {
  const double step = std::min(0.5 * sigma, 0.4 * sigma * sigma);
  constexpr double kTail = 13;  // standard deviations; what lies beyond is below 1e-37
  const double low = -kTail * sigma;
  const auto count = static_cast<std::int64_t>((order + 2 * kTail * sigma) / step) + 2;
  const double log_stay = std::log1p(-q);
  const double log_q = std::log(q);
  // Scaled by the largest term so far, so that nothing overflows.
  double largest = -kInfinity;
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = low + step * static_cast<double>(i);
    const double t = (2 * x - 1) / (2 * sigma * sigma);
    const double excess = log_excess(q * std::expm1(t), log_add(log_stay, log_q + t), order);
    const double term = excess - x * x / (2 * sigma * sigma);
    if (!(term > -kInfinity)) continue;
    if (term > largest) {
      sum = sum * std::exp(largest - term) + 1;
      largest = term;
    } else {
      sum += std::exp(term - largest);
    }
  }
  return largest + std::log(sum) + std::log(step / (sigma * std::sqrt(2 * std::numbers::pi)));
}

double gaussian_rdp(double sigma, double order) { return order / (2 * sigma * sigma); }

double log_binomial(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

// The minimum of a quasi-convex function of the order, on a logarithmic scale of order - 1.
template <class Function>
double best_order(const Function& value) {
  constexpr double kLowest = 1e-8;  // of order - 1
  constexpr double kHighest = 1e7;
  // Walk from 1 in the falling direction until it rises.
  double middle = 1;
  const double direction = value(1 + 2 * middle) < value(1 + middle) ? 2 : 0.5;
  double next = middle * direction;
  while (next > kLowest && next < kHighest && value(1 + next) < value(1 + middle)) {
    middle = next;
    next *= direction;
  }
  double low = std::log(std::min(next, middle / 2));
  double high = std::log(std::max(next, middle * 2));
  const double golden = (std::sqrt(5.0) - 1) / 2;
  for (int i = 0; i < 50; ++i) {
    const double left = high - golden * (high - low);
    const double right = low + golden * (high - low);
    if (value(1 + std::exp(left)) < value(1 + std::exp(right)))
      high = right;
    else
      low = left;
  }
  return 1 + std::exp((low + high) / 2);
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
  const double log_moment =
      log_one_plus_exp(log_moment_less_one(event.sampling_rate, event.noise_multiplier, order));
  // Sampling never costs privacy, whatever rounding says.
  return std::min(log_moment / (order - 1), gaussian_rdp(event.noise_multiplier, order));
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

double rdp(const Laplace& event, double order) {
  check_order(order);
  // Mironov 2017, proposition 6, with the common factor e^{(order-1)/b} taken out.
  const double b = event.scale;
  const double odds = 2 * order - 1;
  // shares = 1 - (order-1)/odds * (1 - e^{-odds/b}), written so that large b loses nothing.
  const double log_shares = std::log1p((order - 1) / odds * std::expm1(-odds / b));
  return std::max(0.0, 1 / b + log_shares / (order - 1));
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
          if constexpr (!requires { privacy::rdp(one, order); }) {
            throw UnsupportedEvent(fmt::format(
                "RdpAccountant has no curve for {}; the PLD accountant has", name_of(event)));
          } else
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
  const double order = is_whole ? best_whole_order(value) : best_order(value);
  return {.epsilon = value(order), .order = order};
}

}  // namespace obol::privacy
