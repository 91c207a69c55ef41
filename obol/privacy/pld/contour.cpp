#include "obol/privacy/pld/contour.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

#include "obol/privacy/pld/nonuniform.h"

namespace obol::privacy {
namespace {

using Complex = std::complex<double>;

constexpr double kEnoughDecay = 30;      // points beyond are below e^-30 of the first one
constexpr double kLightest = 1e-20;      // mass, times the count, of a point that is left out
constexpr double kFewEvaluations = 2e6;  // of e^{i t loss}, up to which one by one is fastest

struct TiltedPart {
  TiltedLaw law;
  double count;
};

struct TiltedComposition {
  std::vector<TiltedPart> parts;
  double gaussian;
  double gaussian_mean;
  double left_out = 0;  // count times the mass of points left out

  [[nodiscard]] double decay(double t) const {
    double total = gaussian * t * t / 2;
    for (const TiltedPart& part : parts) total += part.count * part.law.decay(t);
    return total;
  }
};

TiltedComposition tilted(const Composition& composition, double c, double frequency) {
  TiltedComposition result{.parts = {},
                           .gaussian = composition.gaussian(),
                           .gaussian_mean = composition.gaussian() * (c + 0.5)};
  for (const Part& part : composition.parts()) {
    const auto count = static_cast<double>(part.count);
    const double log_total = composition.law(part, c + 1).log_moment(c + 1);
    const Law law = composition.law(part, c + 1,
                                    {.frequency = frequency,
                                     .order = c + 1,
                                     .faintest = std::log(kLightest / count) + log_total});
    result.parts.push_back({law.tilted(c + 1, kLightest / count), count});
    result.left_out += kLightest * static_cast<double>(law.size());
  }
  return result;
}

// The smallest frequency, to within a few per cent, from which on everything is negligible; or the
// largest allowed.
double last_frequency(const TiltedComposition& composition, double step, double largest) {
  double high = step;
  while (composition.decay(high) < kEnoughDecay) {
    if (high >= largest) return largest;
    high = std::min(2 * high, largest);
  }
  double low = high / 2;
  while (high > 1.03 * low) {
    const double middle = std::sqrt(low * high);
    (composition.decay(middle) < kEnoughDecay ? low : high) = middle;
  }
  return high;
}

// log E[e^{i t loss}] of the sum of all losses at t = 0, step, 2 step, ...
std::vector<Complex> log_characteristics(const TiltedComposition& composition, double step,
                                         std::size_t count) {
  std::vector<Complex> result(count);
  for (std::size_t n = 0; n < count; ++n) {
    const double t = step * static_cast<double>(n);
    result[n] = Complex(-composition.gaussian * t * t / 2, composition.gaussian_mean * t);
  }
  for (const TiltedPart& part : composition.parts) {
    const auto points = static_cast<double>(part.law.losses.size());
    if (points * static_cast<double>(count) <= kFewEvaluations) {
      for (std::size_t n = 0; n < count; ++n)
        result[n] += part.count * part.law.log_characteristic(step * static_cast<double>(n));
    } else {
      const std::vector<Complex> values =
          nonuniform_transform(part.law.losses, part.law.masses, step, count);
      // What has no loss (shards that were not drawn) is no point of the law.
      const double rest = 1 - std::accumulate(part.law.masses.begin(), part.law.masses.end(), 0.0);
      for (std::size_t n = 0; n < count; ++n) result[n] += part.count * std::log(values[n] + rest);
    }
  }
  return result;
}

class ContourCurve final : public DeltaCurve {
 public:
  ContourCurve(const TiltedComposition& composition, const Tilt& tilt, const Reach& reach,
               double step, double last, double decay, double lost)
      : tilt_(tilt), reach_(reach), step_(step), lost_(lost) {
    const auto count = static_cast<std::size_t>(last / step) + 2;
    amplitudes_ = log_characteristics(composition, step, count);
    double total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const Complex s(tilt.c, step * static_cast<double>(i));
      amplitudes_[i] = std::exp(amplitudes_[i]) / (s * (s + 1.0));
      if (i == 0) amplitudes_[i] /= 2;
      total += std::abs(amplitudes_[i]);
    }
    // The points after the last one: at most e^-decay / t^2 each.
    const double end = step * static_cast<double>(count - 1);
    const double cut = std::exp(-decay) / end / step;
    // Quadrature and rounding are a few units in the last place of every log, count included.
    double rounding = 1e-13 * (10 + std::abs(tilt.cumulant)) + composition.left_out;
    for (const TiltedPart& part : composition.parts) rounding += part.count * kNonuniformError;
    slack_ = cut + rounding * total;
  }

  [[nodiscard]] DeltaBounds at(double epsilon) const override {
    double sum = 0;
    for (std::size_t i = 0; i < amplitudes_.size(); ++i) {
      const double angle = -step_ * static_cast<double>(i) * epsilon;
      sum += amplitudes_[i].real() * std::cos(angle) - amplitudes_[i].imag() * std::sin(angle);
    }
    const double scale = std::exp(tilt_.cumulant - tilt_.c * epsilon) * step_ / std::numbers::pi;
    const double moved = epsilon - tilt_.epsilon;
    const double nothing = std::exp(-kLogNothing);
    // The reach was found for tilt_.epsilon; elsewhere its bounds change by what was moved.
    const double aliases =
        2 * nothing * std::exp(tilt_.cumulant - tilt_.c * epsilon) *
        (std::exp(-reach_.theta_above * moved) + std::exp(reach_.theta_below * moved));
    return {.lower = scale * (sum - slack_) - aliases, .upper = scale * (sum + slack_) + lost_};
  }

 private:
  Tilt tilt_;
  Reach reach_;
  double step_;
  double lost_;
  double slack_ = 0;
  std::vector<Complex> amplitudes_;
};

}  // namespace

std::unique_ptr<DeltaCurve> contour_curve(const Composition& composition, const Tilt& tilt,
                                          const Reach& reach, int log_points) {
  const double step = 2 * std::numbers::pi / std::max(reach.below, reach.above);
  const TiltedComposition coarse = tilted(composition, tilt.c, /*frequency=*/0);
  const double last = last_frequency(coarse, step, std::ldexp(step, log_points));
  return std::make_unique<ContourCurve>(tilted(composition, tilt.c, last), tilt, reach, step, last,
                                        coarse.decay(last), composition.lost());
}

}  // namespace obol::privacy
