#include "obol/privacy/pld/contour.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "obol/privacy/pld/characteristic.h"
#include "obol/privacy/pld/complex.h"

namespace obol::privacy {
namespace {

constexpr double kEnoughDecay = 30;  // points beyond are below e^-30 of the first one

struct TiltedPart {
  TiltedLaw law;
  double count;
};

struct TiltedComposition {
  std::vector<TiltedPart> parts;
  double gaussian;
  double gaussian_mean;
  double cumulant;      // of these very laws
  double lost = 0;      // delta that they know nothing of
  double left_out = 0;  // bound on what points left out change in the log of a transform

  [[nodiscard]] double decay(double t) const {
    double total = gaussian * t * t / 2;
    for (const TiltedPart& part : parts) total += part.count * part.law.decay(t);
    return total;
  }
};

TiltedComposition tilted(const Composition& composition, double c, double frequency) {
  TiltedComposition result{.parts = {},
                           .gaussian = composition.gaussian(),
                           .gaussian_mean = composition.gaussian() * (c + 0.5),
                           .cumulant = composition.gaussian() * c * (c + 1) / 2};
  for (const Part& part : composition.parts()) {
    const auto count = static_cast<double>(part.count);
    const Law law = composition.law(part, c, frequency);
    result.parts.push_back({law.tilted(c + 1, Composition::kLightest / count), count});
    result.cumulant += count * law.log_moment(c + 1);
    result.lost += count * law.lost();
    // Mass outside is taken for order times as much without a loss, because of how moments are kept
    // as excesses.
    result.left_out += 2 * Composition::kLightest * static_cast<double>(law.size()) +
                       count * (c + 1) * law.outside();
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

class ContourCurve final : public DeltaCurve {
 public:
  ContourCurve(const TiltedComposition& composition, const Tilt& tilt, const Reach& reach,
               double step, double last, double decay)
      : tilt_(tilt),
        reach_(reach),
        step_(step),
        cumulant_(composition.cumulant),
        lost_(composition.lost) {
    const auto count = static_cast<std::size_t>(last / step) + 2;
    std::vector<Complex> logs(count);
    std::vector<double> errors(count, 1e-13 * (10 + std::abs(cumulant_)) + composition.left_out);
    for (std::size_t n = 0; n < count; ++n) {
      const double t = step * static_cast<double>(n);
      logs[n] = Complex(-composition.gaussian * t * t / 2, composition.gaussian_mean * t);
      errors[n] += kRounding * t * (std::abs(tilt.epsilon) + composition.gaussian_mean);
    }
    for (const TiltedPart& part : composition.parts) {
      const Characteristic characteristic(part.law, step, count);
      for (std::size_t n = 0; n < count; ++n) {
        logs[n] += part.count * characteristic.log_at(n);
        errors[n] += part.count * characteristic.error_at(n);
      }
    }
    amplitudes_.resize(count);
    // The points after the last one: at most e^-decay / t^2 each.
    slack_ = std::exp(-decay) / (step * static_cast<double>(count - 1)) / step;
    for (std::size_t n = 0; n < count; ++n) {
      const Complex s(tilt.c, step * static_cast<double>(n));
      amplitudes_[n] = std::exp(logs[n]) / (s * (s + 1.0));
      if (n == 0) amplitudes_[n] /= 2;
      slack_ += std::abs(amplitudes_[n]) * std::expm1(std::min(errors[n], 700.0));
    }
  }

  [[nodiscard]] DeltaBounds at(double epsilon) const override {
    double sum = 0;
    for (std::size_t i = 0; i < amplitudes_.size(); ++i) {
      const double angle = -step_ * static_cast<double>(i) * epsilon;
      sum += amplitudes_[i].real() * std::cos(angle) - amplitudes_[i].imag() * std::sin(angle);
    }
    const double tail = std::exp(cumulant_ - tilt_.c * epsilon);  // Chernoff's bound
    const double scale = tail * step_ / std::numbers::pi;
    const double moved = epsilon - tilt_.epsilon;
    // The reach was found for tilt_.epsilon; elsewhere its bounds change by what was moved.
    const double aliases =
        2 * std::exp(-kLogNothing) * tail *
        (std::exp(-reach_.theta_above * moved) + std::exp(reach_.theta_below * moved));
    return {.lower = scale * (sum - slack_) - aliases, .upper = scale * (sum + slack_) + lost_};
  }

 private:
  Tilt tilt_;
  Reach reach_;
  double step_;
  double cumulant_;
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
                                        coarse.decay(last));
}

}  // namespace obol::privacy
