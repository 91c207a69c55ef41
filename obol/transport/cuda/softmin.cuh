// Half an iteration of Sinkhorn's algorithm for one point, as the fused and the tiled solver share
// it: its new potential is
//
//   own - regularization log sum_k w_k exp((own + p_k - C_k)/regularization),
//
// over the points k of the other side, whose potentials are p_k. The potential it had (`own`) keeps
// the sum near 1, so that no maximum is needed; only where a sum has left T's range, at the start
// or after a jump, is it formed again relative to its largest term. Potentials stay in units of the
// cost: own + p_k - C_k is then nearly exact for the pairs that matter.
//
// Where the regularization is no less than the largest cost ("flat"), every power is near 1 and
// what counts is its distance to 1: sums are then of w_k expm1, and keep their precision.
#pragma once

#include <algorithm>

#include "obol/transport/cuda/math.cuh"
#include "obol/transport/cuda/sinkhorn.h"

namespace obol::transport::cuda {

template <class T>
struct alignas(2 * sizeof(T)) Side {
  T potential;
  T weight;  // its binary logarithm; flat: itself
};

template <class T>
struct Temperature {
  double value;
  double inverse;
  T scale;    // log2(e) / value
  T unscale;  // value ln(2)

  __device__ explicit Temperature(double regularization, double one_over)
      : value(regularization),
        inverse(one_over),
        scale(static_cast<T>(kLog2E * one_over)),
        unscale(static_cast<T>(kLn2 * regularization)) {}
};

template <class T>
__device__ T side_weight(const T* logs, std::int64_t i, std::int64_t count, bool is_flat) {
  if (logs == nullptr)
    return static_cast<T>(is_flat ? 1.0 / static_cast<double>(count)
                                  : -log2(static_cast<double>(count)));
  return is_flat ? static_cast<T>(exp(static_cast<double>(logs[i])))
                 : static_cast<T>(kLog2E * static_cast<double>(logs[i]));
}

template <class T>
__device__ T plain_weight(const Side<T>& side, bool is_flat) {
  return is_flat ? side.weight : power_of_two(side.weight);
}

// One pair's part of the sum.
template <class T>
__device__ T part(const Side<T>& other, T cost, T own, const Temperature<T>& t) {
  return power_of_two(fma(t.scale, (other.potential - cost) + own, other.weight));
}
template <class T>
__device__ T flat_part(const Side<T>& other, T cost, T own, const Temperature<T>& t) {
  return other.weight * expm1(((other.potential - cost) + own) * static_cast<T>(t.inverse));
}

// The binary logarithm of one pair's part, without `own`.
template <class T>
__device__ T log_part(const Side<T>& other, T cost, const Temperature<T>& t, bool is_flat) {
  const T weight = is_flat ? log2(other.weight) : other.weight;
  return fma(t.scale, other.potential - cost, weight);
}

// Whether a sum of parts can be trusted.
template <class T>
__device__ bool is_near(T sum, bool is_flat) {
  if (is_flat) return sum > static_cast<T>(-0.999) && sum < Range<T>::kFar;
  return sum > 1 / Range<T>::kFar && sum < Range<T>::kFar;
}

// Potentials stay far from overflow, and a step that is not a number is none.
template <class T>
__device__ T bounded(T potential, T otherwise) {
  constexpr T kMost = Range<T>::kLargest / 8;
  if (potential != potential) return otherwise;
  return fmin(fmax(potential, -kMost), kMost);
}

template <class T>
__device__ T from_sum(T sum, T own, const Temperature<T>& t, bool is_flat) {
  const T step = is_flat ? static_cast<T>(t.value) * log1p(sum) : t.unscale * binary_log(sum);
  return bounded(own - step, own);
}

// `sum` is that of powers relative to 2^largest.
template <class T>
__device__ T from_largest(T largest, T sum, T own, const Temperature<T>& t) {
  return bounded(-t.unscale * (largest + binary_log(sum)), own);
}

// |mass of row i - a_i|, for an update from f to next.
template <class T>
__device__ T row_error(T weight, T f, T next, const Temperature<T>& t) {
  if (weight == 0) return 0;
  const T change = (f - next) * static_cast<T>(t.inverse);
  return weight * fabs(expm1(fmin(change, Range<T>::kLargestExponent)));
}

template <class T>
__device__ T pair_mass(const Side<T>& row, const Side<T>& column, T cost, const Temperature<T>& t,
                       bool is_flat) {
  const T gap = (column.potential - cost) + row.potential;
  constexpr T kMost = Range<T>::kLargestExponent * static_cast<T>(kLog2E);
  if (is_flat) return row.weight * column.weight * power_of_two(fmin(t.scale * gap, kMost));
  return power_of_two(fmin(fma(t.scale, gap, row.weight + column.weight), kMost));
}

// The dual value of a self transport also counts what a row has too much or too little.
template <class T>
__device__ double self_correction(T weight, T f, T next, const Temperature<T>& t) {
  if (weight == 0) return 0;
  const double change = (static_cast<double>(f) - static_cast<double>(next)) * t.inverse;
  return -t.value * static_cast<double>(weight) * expm1(fmin(change, 700.0));
}

// Options as kernels want them.
struct Schedule {
  double regularization;
  double tolerance;
  double over_relaxation;
  double annealing;  // 1: none
  double inverse_annealing;
  int max_iterations;
  Stopping stopping;
};

inline Schedule schedule(const SinkhornOptions& options) {
  const bool is_annealed = options.stopping == Stopping::kAnnealed;
  const double ratio = is_annealed && options.annealing == 1 ? 0.5 : options.annealing;
  constexpr std::int64_t kMost = 1'000'000'000;
  return {options.regularization,
          options.tolerance,
          options.over_relaxation,
          ratio,
          1 / ratio,
          static_cast<int>(std::min(options.max_iterations, kMost)),
          options.stopping};
}

// What a solver remembers from one iteration to the next; the same in every thread.
struct Progress {
  int iterations = 0;
  bool converged = false;
  double error = 0;
};

// Sinkhorn's algorithm in the terms of a solver that has
//
//   double update_rows(t, step, Look)   moves the rows, and says how far their masses were off
//   void update_columns(t, step)
//   void take_back()                    the last move of the rows
//   bool is_self() const                one side alone: its columns follow its rows
//
// and is called by all threads alike. The length of a step is chosen by the errors before it.
enum class Look { kNone, kOnce, kLast };

template <class T, class Solver>
__device__ Progress run(Solver& solver, const Schedule& s, double largest_cost) {
  Progress p;
  const double target = s.regularization;
  const double one_over_target = 1 / target;
  double warm = s.annealing < 1 ? largest_cost : target;
  double one_over_warm = 1 / warm;
  T step = 1;
  T step_before = 1;
  double error_before = 1e300;
  bool is_at_target = false;
  const Temperature<T> at_target(target, one_over_target);
  Temperature<T> warmer(warm, one_over_warm);
  while (true) {
    const bool is_warm = warm > target && p.iterations < s.max_iterations;
    const Temperature<T> t = is_warm ? warmer : at_target;
    Look look = Look::kNone;
    if (!is_warm && s.stopping == Stopping::kConverge) look = Look::kOnce;
    if (!is_warm && s.stopping == Stopping::kAnnealed && is_at_target) look = Look::kLast;
    if (!is_warm && s.stopping == Stopping::kFixed && p.iterations >= s.max_iterations)
      look = Look::kLast;
    const double error = solver.update_rows(t, step, look);
    if (look != Look::kNone) {
      // Only a plain step leaves the columns exact.
      const bool columns_hold = solver.is_self() || (p.iterations > 0 && step_before == 1);
      p.error = error;
      p.converged = columns_hold && error <= s.tolerance;
      if (p.converged || look == Look::kLast || p.iterations >= s.max_iterations) break;
    }
    // Before the columns, so that nothing waits for these products.
    if (is_warm) {
      warm *= s.annealing;
      one_over_warm *= s.inverse_annealing;
      warmer = Temperature<T>(warm, one_over_warm);
    }
    solver.update_columns(t, step);
    ++p.iterations;
    if (is_warm) continue;
    is_at_target = true;
    step_before = step;
    // Over-relaxed steps leave the columns inexact, so the last ones are plain; and where they do
    // not help they stop.
    const bool helps = p.iterations > 2 && error < error_before && error > 10 * s.tolerance;
    step = helps ? static_cast<T>(s.over_relaxation) : 1;
    error_before = error;
  }
  solver.take_back();
  return p;
}

template <class T>
__device__ T moved(T from, T to, T step) {
  return step == 1 ? to : from + step * (to - from);
}

// Where one value is not finite none can be trusted.
__device__ inline void write_result(const Progress& progress, double dual, double primal,
                                    SinkhornResult* result) {
  constexpr double kNone = INFINITY;
  const bool is_finite = isfinite(dual) && isfinite(primal) && isfinite(progress.error);
  result->dual = is_finite ? dual : kNone;
  result->primal = is_finite ? primal : kNone;
  result->marginal_error = is_finite ? progress.error : kNone;
  result->iterations = progress.iterations;
  result->converged = progress.converged && is_finite ? 1 : 0;
}

}  // namespace obol::transport::cuda
