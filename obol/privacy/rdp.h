// Renyi differential privacy: the curve of each mechanism, composition, conversion to epsilon.
//
//   RdpAccountant accountant;
//   accountant.compose(SampledGaussian{0.01, 0.8, 2000});   // rate, noise multiplier, count
//   accountant.epsilon(Delta{1e-5}).epsilon                 // 4.86, an upper bound
//   accountant.rdp(8.0)                                     // the curve itself
//
// References: Mironov 2017 (RDP, Gaussian, Laplace, the classic conversion); Mironov, Talwar and
// Zhang 2019 (Poisson sampling); Wang, Balle and Kasiviswanathan 2019 (sampling without
// replacement); Balle et al. 2020 and Canonne, Kamath and Steinke 2020 (the tight conversion).
#pragma once

#include <cstdint>
#include <vector>

#include "obol/base/types.h"
#include "obol/privacy/event.h"

namespace obol::privacy {

// Renyi divergence of one release, in the worse direction. Orders are real and above 1.
double rdp(const SampledGaussian& event, double order);
double rdp(const SampledLaplace& event, double order);
double rdp(const ShardGaussian& event, double order);
double rdp(const Gaussian& event, double order);
double rdp(const Laplace& event, double order);
double rdp(const LocalGaussian& event, double order);
double rdp(const LocalLaplace& event, double order);
double rdp(const LocalRandomizedResponse& event, double order);
// The bound of Wang et al. at whole orders from 2 (its value at the next whole order elsewhere,
// since the curve never falls), and never more than without sampling.
double rdp(const FixedBatchGaussian& event, double order);

// kClassic is the papers' log(1/delta)/(order-1); kTight is never worse.
enum class Conversion { kClassic, kTight };

double epsilon_of(double rdp, double order, Delta delta, Conversion conversion);

struct RdpEpsilon {
  double epsilon;
  double order;  // at which the bound is smallest
};

class RdpAccountant {
 public:
  // Throws UnsupportedEvent where neighbours are mixed: a sum over two notions of "one record"
  // means nothing.
  void compose(const Event& event);

  // The composed curve.
  [[nodiscard]] double rdp(double order) const;

  // The smallest bound over all orders. delta must be positive.
  [[nodiscard]] RdpEpsilon epsilon(Delta delta, Conversion conversion = Conversion::kTight) const;

 private:
  std::vector<Event> events_;
};

}  // namespace obol::privacy
