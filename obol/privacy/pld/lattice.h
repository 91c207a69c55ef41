// delta(epsilon) of a composition on a lattice of losses, by Fourier transform. It serves where
// contour.h does not: few releases, rare large losses, laws with atoms.
//
// Upper bound: the mass of every cell goes to its two ends such that both the P- and the Q-mass
// are kept ("connect the dots", Doroshenko et al. 2022): the smallest law on the lattice that
// dominates. Lower bound: the mass of the cell around a lattice point is merged into the point
// (post-processing) and what does not fit the point's loss is dropped. Both err by the square of
// the spacing. The laws are tilted before the transform, so that its rounding is relative to the
// tail that matters, and the mass that wraps around is bounded by Chernoff's inequality.
#pragma once

#include <memory>

#include "obol/privacy/pld/composition.h"

namespace obol::privacy {

// With 2^log_size points over the reach.
std::unique_ptr<DeltaCurve> lattice_curve(const Composition& composition, const Tilt& tilt,
                                          const Reach& reach, int log_size);

}  // namespace obol::privacy
