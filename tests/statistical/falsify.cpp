#include "tests/statistical/falsify.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::statistical {
namespace {

using Outputs = std::vector<Output>;

// A number made of an output; events are thresholds on it.
struct Statistic {
  std::string name;
  std::function<double(const Output&)> of;
};

constexpr std::size_t kMostCoordinates = 8;  // looked at one by one
constexpr std::size_t kMostCorrelated = 64;  // looked at together, by the discriminant
constexpr std::size_t kEventsPerDirection = 4;

double coordinate(const Output& output, std::size_t i) { return i < output.size() ? output[i] : 0; }

// The place of the last binary digit that is not zero: what naive addition gives away.
double last_digit(double x) {
  if (x == 0 || !std::isfinite(x)) return std::numeric_limits<double>::max_exponent;
  int exponent = 0;
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::frexp(x, &exponent), 53));
  const auto bits = static_cast<std::uint64_t>(mantissa < 0 ? -mantissa : mantissa);
  return exponent - 53 + std::countr_zero(bits);
}

std::vector<double> mean_of(const Outputs& outputs, std::size_t dimension) {
  std::vector<double> mean(dimension);
  for (const Output& output : outputs)
    for (std::size_t i = 0; i < dimension; ++i)
      mean[i] += coordinate(output, i) / static_cast<double>(outputs.size());
  return mean;
}

using Matrix = std::vector<std::vector<double>>;

void add_covariance(const Outputs& outputs, const std::vector<double>& mean, Matrix& covariance) {
  for (const Output& output : outputs)
    for (std::size_t i = 0; i < mean.size(); ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        const double product =
            (coordinate(output, i) - mean[i]) * (coordinate(output, j) - mean[j]);
        covariance[i][j] += product / static_cast<double>(outputs.size());
        covariance[j][i] = covariance[i][j];
      }
}

// Gauss's elimination, for a positive definite matrix.
std::vector<double> solve(Matrix matrix, std::vector<double> right) {
  const std::size_t n = right.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 1; j < n; ++j) {
      const double factor = matrix[j][i] / matrix[i][i];
      for (std::size_t k = i; k < n; ++k) matrix[j][k] -= factor * matrix[i][k];
      right[j] -= factor * right[i];
    }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  return right;
}

// Fisher's discriminant; the ridge keeps it defined where coordinates share their noise.
Statistic discriminant(const Outputs& first, const Outputs& second, std::size_t dimension) {
  const auto mean = mean_of(first, dimension);
  const auto other = mean_of(second, dimension);
  Matrix covariance(dimension, std::vector<double>(dimension));
  add_covariance(first, mean, covariance);
  add_covariance(second, other, covariance);
  double trace = 0;
  for (std::size_t i = 0; i < dimension; ++i) trace += covariance[i][i];
  std::vector<double> apart(dimension);
  for (std::size_t i = 0; i < dimension; ++i) {
    covariance[i][i] += 1e-6 * trace + std::numeric_limits<double>::min();
    apart[i] = mean[i] - other[i];
  }
  return {"the linear discriminant",
          [weights = solve(std::move(covariance), std::move(apart))](const Output& output) {
            double sum = 0;
            for (std::size_t i = 0; i < weights.size(); ++i)
              sum += weights[i] * coordinate(output, i);
            return sum;
          }};
}

Output commonest(const Outputs& first, const Outputs& second) {
  std::map<Output, std::size_t> counts;
  for (const Outputs* outputs : {&first, &second})
    for (const Output& output : *outputs) ++counts[output];
  return std::max_element(counts.begin(), counts.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

std::vector<Statistic> statistics_for(const Outputs& first, const Outputs& second) {
  std::size_t dimension = 0;
  for (const Outputs* outputs : {&first, &second})
    for (const Output& output : *outputs) dimension = std::max(dimension, output.size());
  // Among events that look the same, the one that comes first is told.
  std::vector<Statistic> all;
  all.push_back({"the number of exact zeros", [](const Output& o) {
                   return static_cast<double>(std::count(o.begin(), o.end(), 0.0));
                 }});
  all.push_back(
      {"the number of values", [](const Output& o) { return static_cast<double>(o.size()); }});
  all.push_back(
      {"likeness to the commonest output",
       [common = commonest(first, second)](const Output& o) { return o == common ? 1.0 : 0.0; }});
  all.push_back(discriminant(first, second, std::min(dimension, kMostCorrelated)));
  all.push_back({"the norm", [](const Output& o) {
                   return std::sqrt(std::inner_product(o.begin(), o.end(), o.begin(), 0.0));
                 }});
  for (std::size_t i = 0; i < std::min(dimension, kMostCoordinates); ++i) {
    all.push_back(
        {fmt::format("coordinate {}", i), [i](const Output& o) { return coordinate(o, i); }});
    all.push_back({fmt::format("the last binary digit of coordinate {}", i),
                   [i](const Output& o) { return last_digit(coordinate(o, i)); }});
  }
  return all;
}

std::vector<double> values_of(const Statistic& statistic, const Outputs& outputs) {
  std::vector<double> values;
  values.reserve(outputs.size());
  for (const Output& output : outputs) {
    const double value = statistic.of(output);
    // A NaN is an event like any other, but cannot be sorted.
    values.push_back(std::isnan(value) ? std::numeric_limits<double>::infinity() : value);
  }
  return values;
}

enum class Side { kAtLeast, kBelow };
enum class Direction { kForward, kBackward };  // P is the first input's law, or the second's

struct Event {
  std::size_t statistic;
  double threshold;
  Side side;
  double score;  // how far P[E] - exp(epsilon) Q[E] - delta seems to be above zero, in deviations
};

double score_of(double hits, double other_hits, double runs, const Claim& claim) {
  // One more hit for Q than was seen: an event must not win by never having occurred.
  const double p = hits / runs;
  const double q = std::min(1.0, (other_hits + 1) / runs);
  const double factor = std::exp(claim.epsilon.value());
  const double variance = (p * (1 - p) + factor * factor * q * (1 - q) + 1 / runs) / runs;
  return (p - factor * q - claim.delta.value()) / std::sqrt(variance);
}

// The best threshold on one statistic: one walk over all values that occurred.
Event best_event(std::size_t statistic, std::vector<double> p, std::vector<double> q,
                 const Claim& claim) {
  std::sort(p.begin(), p.end());
  std::sort(q.begin(), q.end());
  const auto runs = static_cast<double>(p.size());
  Event best = {statistic, 0, Side::kAtLeast, -std::numeric_limits<double>::infinity()};
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < p.size() || j < q.size()) {
    const double threshold = j == q.size() || (i < p.size() && p[i] < q[j]) ? p[i] : q[j];
    const auto p_below = static_cast<double>(i);
    const auto q_below = static_cast<double>(j);
    const double above = score_of(runs - p_below, runs - q_below, runs, claim);
    const double below = score_of(p_below, q_below, runs, claim);
    if (above > best.score) best = {statistic, threshold, Side::kAtLeast, above};
    if (below > best.score) best = {statistic, threshold, Side::kBelow, below};
    while (i < p.size() && p[i] == threshold) ++i;
    while (j < q.size() && q[j] == threshold) ++j;
  }
  return best;
}

std::vector<Event> choose_events(const std::vector<Statistic>& statistics, const Outputs& p,
                                 const Outputs& q, const Claim& claim) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < statistics.size(); ++i)
    events.push_back(
        best_event(i, values_of(statistics[i], p), values_of(statistics[i], q), claim));
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.score > b.score; });
  events.resize(std::min(events.size(), kEventsPerDirection));
  return events;
}

std::size_t count(const Event& event, const Statistic& statistic, const Outputs& outputs) {
  const auto values = values_of(statistic, outputs);
  return static_cast<std::size_t>(std::count_if(values.begin(), values.end(), [&](double value) {
    return event.side == Side::kAtLeast ? value >= event.threshold : value < event.threshold;
  }));
}

Outputs run_often(const std::function<Output()>& run, std::size_t runs) {
  Outputs outputs(runs);
  std::generate(outputs.begin(), outputs.end(), run);
  return outputs;
}

// Keeps the finding with the largest lower bound.
void judge(const Event& event, const Statistic& statistic, std::size_t p_hits, std::size_t q_hits,
           const Claim& claim, const Effort& effort, Direction direction, Finding& finding) {
  // Two bounds for each of the events in both directions.
  const double error = effort.false_alarm / (4.0 * kEventsPerDirection);
  const double p = lower_bound(p_hits, effort.runs, error);
  const double q = upper_bound(q_hits, effort.runs, error);
  const double delta = claim.delta.value();
  const double epsilon = p > delta ? std::max(0.0, std::log((p - delta) / q)) : 0;
  if (!finding.story.empty() && epsilon <= finding.epsilon_at_least) return;
  finding.violated = epsilon > claim.epsilon.value();
  finding.epsilon_at_least = epsilon;
  finding.story = fmt::format(
      "{} is {} {:.6g} in {} of {} runs on the {} input and in {} on the other: epsilon is at "
      "least {:.4g} at delta {:.3g}, and {:.4g} is claimed",
      statistic.name, event.side == Side::kAtLeast ? "at least" : "below", event.threshold, p_hits,
      effort.runs, direction == Direction::kForward ? "first" : "second", q_hits, epsilon, delta,
      claim.epsilon.value());
}

// log of the binomial coefficient times p^k (1 - p)^(n - k)
double log_mass(double k, double n, double p) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
         (n - k) * std::log1p(-p);
}

// P[Binomial(n, p) >= k] for p <= k / n: past the mode each term is smaller than the one before.
double tail(double k, double n, double p) {
  double term = std::exp(log_mass(k, n, p));
  double sum = 0;
  for (double i = k; i <= n && term > sum * 1e-17; ++i) {
    sum += term;
    term *= (n - i) * p / ((i + 1) * (1 - p));
  }
  return sum;
}

}  // namespace

// The largest p at which so many hits are still too unlikely; every step errs to the safe side.
double lower_bound(std::size_t hits, std::size_t runs, double error) {
  if (hits == 0) return 0;
  double low = 0;
  double high = static_cast<double>(hits) / static_cast<double>(runs);
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    const bool unlikely =
        tail(static_cast<double>(hits), static_cast<double>(runs), middle) <= error;
    (unlikely ? low : high) = middle;
  }
  return low;
}

double upper_bound(std::size_t hits, std::size_t runs, double error) {
  return 1 - lower_bound(runs - hits, runs, error);
}

Finding falsify(const std::function<Output()>& run, const std::function<Output()>& neighbour_run,
                const Claim& claim, const Effort& effort) {
  if (effort.runs < 100) throw InvalidArgument(violation("runs", "at least 100", effort.runs));
  const Outputs first = run_often(run, effort.runs);
  const Outputs second = run_often(neighbour_run, effort.runs);
  const auto statistics = statistics_for(first, second);
  const auto forward = choose_events(statistics, first, second, claim);
  const auto backward = choose_events(statistics, second, first, claim);
  const Outputs fresh_first = run_often(run, effort.runs);
  const Outputs fresh_second = run_often(neighbour_run, effort.runs);
  Finding finding;
  for (const Event& event : forward) {
    const Statistic& statistic = statistics[event.statistic];
    judge(event, statistic, count(event, statistic, fresh_first),
          count(event, statistic, fresh_second), claim, effort, Direction::kForward, finding);
  }
  for (const Event& event : backward) {
    const Statistic& statistic = statistics[event.statistic];
    judge(event, statistic, count(event, statistic, fresh_second),
          count(event, statistic, fresh_first), claim, effort, Direction::kBackward, finding);
  }
  return finding;
}

}  // namespace obol::statistical
