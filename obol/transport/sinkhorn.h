// Entropic optimal transport between two weighted sets, given the costs between their points:
//
//   W = min_P <P, C> + regularization KL(P || a x b)   over P with row sums a and column sums b,
//
// solved in the log domain on the dual potentials f and g (Cuturi 2013; Schmitzer 2019).
//
//   auto result = sinkhorn<float>({costs, n, m}, {}, {.regularization = 0.05});
//   if (!result.converged) std::cerr << result.marginal_error << '\n';
//
// The result is exact about what was done: how many iterations, how far the marginals are off, and
// both values. Potentials are double whatever the costs are. Sweeps in the log domain, whose range
// no regularization exceeds, alternate with products by a kernel around the potentials that they
// found (Schmitzer 2019), which are many times faster; the last word is a sweep's, in double,
// without a wider copy of the costs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "obol/transport/cost_view.h"
#include "obol/transport/types.h"

namespace obol::transport {

// Of the points on either side; empty: uniform. Zeros are allowed: such a point has no part in the
// plan, but has a potential. Each side must sum to the same.
struct Weights {
  std::span<const double> a = {};
  std::span<const double> b = {};
};

struct Potentials {
  std::vector<double> f;  // [rows]
  std::vector<double> g;  // [columns]
};

struct SinkhornResult {
  std::vector<double> f;
  std::vector<double> g;
  double dual = 0;    // <a, f> + <b, g>: W itself once converged
  double primal = 0;  // <C, P>
  double marginal_error = 0;
  std::int64_t iterations = 0;
  bool converged = false;
};

// `start` are potentials of a problem like this one, to start from. InvalidArgument, with the
// place, on costs or weights that are not finite, negative weights, sums that differ, nothing to
// transport, options that cannot be meant. Never NaN: where T's range is not enough, `converged` is
// false.
template <class T>
SinkhornResult sinkhorn(const CostView<T>& cost, const Weights& weights,
                        const SinkhornOptions& options, const Potentials* start = nullptr);

// W between a measure and itself, by one potential: `cost` is symmetric, g = f. The update is
// averaged with what was there, which converges in a few iterations (Feydy et al. 2019). No
// over-relaxation.
template <class T>
SinkhornResult sinkhorn_self(const CostView<T>& cost, std::span<const double> weights,
                             const SinkhornOptions& options);

// P_ij = a_i b_j exp((f_i + g_j - C_ij)/regularization), row-major into `plan`.
template <class T>
void transport_plan(const CostView<T>& cost, const Weights& weights, const Potentials& potentials,
                    double regularization, T* plan);

}  // namespace obol::transport
