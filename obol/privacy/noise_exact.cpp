#include "obol/privacy/noise_exact.h"

#include "obol/privacy/noise_transform.h"

namespace obol::privacy {

std::array<Quad, 2> exact_gaussian(WideWord radius, WideWord angle) {
  const auto pair = exact_gaussian_pair<Quad>(radius, angle);
  return {pair.first, pair.second};
}

Quad exact_laplace(WideWord word) { return exact_laplace_draw<Quad>(word); }

Quad exact_laplace_tail(WideWord magnitude, bool is_negative) {
  return exact_laplace_tail<Quad>(magnitude, is_negative);
}

}  // namespace obol::privacy
