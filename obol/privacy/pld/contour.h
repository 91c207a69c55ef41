// delta(epsilon) of a composition by Fourier inversion along the line Re s = c:
//
//   delta(epsilon) = 1/(2 pi i)  integral of  E_P[e^{s loss}]^count e^{-s epsilon} / (s (s+1)) ds.
//
// The cost does not depend on the count. The sum over points at distance h is, by Poisson's
// formula, exactly the sum of e^{c k W} delta(epsilon + k W) over all whole k, W = 2 pi / h: every
// term is positive, so it is an upper bound, and Chernoff bounds on the terms with k != 0 give a
// lower one. The points left out are bounded by the decay of the tilted characteristic functions.
#pragma once

#include <memory>

#include "obol/privacy/pld/composition.h"

namespace obol::privacy {

// With at most 2^log_points points; fewer where the characteristic function has decayed before.
std::unique_ptr<DeltaCurve> contour_curve(const Composition& composition, const Tilt& tilt,
                                          const Reach& reach, int log_points);

}  // namespace obol::privacy
