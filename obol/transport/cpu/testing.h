// The definitions of softmin.h and pairwise.h, written down in double precision: slow, for tests
// and for whoever doubts the fast ones. Matrices come back dense and row-major.
//
//   const std::vector<double> f = reference::softmin(in, n);
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "obol/transport/cpu/pairwise.h"
#include "obol/transport/cpu/softmin.h"

namespace obol::transport::cpu::reference {

// Whether two results are the same to the last bit.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
std::vector<T> normal_values(std::size_t count, double scale, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<double> normal;
  std::vector<T> values(count);
  for (T& value : values) value = static_cast<T>(scale * normal(bits));
  return values;
}

// log sum_j exp(h_j - C_ij / epsilon).
template <class T, class C>
double log_sum(const SoftminInput<T, C>& in, std::size_t i) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> t(in.columns);
  for (std::size_t j = 0; j < in.columns; ++j)
    t[j] = in.h[j] - static_cast<double>(in.cost[i * in.leading + j]) / in.epsilon;
  const double top = t.empty() ? -kInfinity : *std::max_element(t.begin(), t.end());
  if (top == -kInfinity) return -kInfinity;
  long double sum = 0;
  for (const double value : t) sum += std::exp(value - top);
  return top + static_cast<double>(std::log(sum));
}

template <class T, class C>
std::vector<double> softmin(const SoftminInput<T, C>& in, std::size_t rows) {
  std::vector<double> out(rows);
  for (std::size_t i = 0; i < rows; ++i) out[i] = -in.epsilon * log_sum(in, i);
  return out;
}

template <class T, class C>
std::vector<double> plan(const PlanInput<T, C>& in, std::size_t rows) {
  std::vector<double> out(rows * in.columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < in.columns; ++j) {
      const double gap = static_cast<double>(in.f[i]) + in.g[j] - in.cost[i * in.leading + j];
      out[i * in.columns + j] = std::exp(gap / in.epsilon) * in.a[i] * in.b[j];
    }
  return out;
}

inline double term(const Ground& ground, double difference) {
  const double size = std::fabs(difference);
  switch (ground.kind) {
    case GroundCost::kAbsolute:
      return size;
    case GroundCost::kSquared:
      return size * size;
    case GroundCost::kMixture:
      return size * size + ground.mixing * size;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

inline double slope(const Ground& ground, double difference) {
  const double sign = difference > 0 ? 1 : difference < 0 ? -1 : 0;
  switch (ground.kind) {
    case GroundCost::kAbsolute:
      return sign;
    case GroundCost::kSquared:
      return 2 * difference;
    case GroundCost::kMixture:
      return 2 * difference + ground.mixing * sign;
  }
  return std::numeric_limits<double>::quiet_NaN();
}

template <class T>
double difference(const PairwiseInput<T>& in, std::size_t i, std::size_t j, std::size_t k) {
  return static_cast<double>(in.x.data[i * in.x.leading + k]) - in.y.data[j * in.y.leading + k];
}

template <class T>
std::vector<double> pairwise_cost(const PairwiseInput<T>& in) {
  std::vector<double> cost(in.x.count * in.y.count);
  for (std::size_t i = 0; i < in.x.count; ++i)
    for (std::size_t j = 0; j < in.y.count; ++j) {
      long double sum = 0;
      for (std::size_t k = 0; k < in.dimension; ++k)
        sum += term(in.ground, difference(in, i, j, k));
      cost[i * in.y.count + j] = static_cast<double>(sum);
    }
  return cost;
}

template <class T>
std::vector<double> pairwise_gradient(const PairwiseInput<T>& in, const PlanView<T>& plan) {
  std::vector<double> gradient(in.x.count * in.dimension);
  for (std::size_t i = 0; i < in.x.count; ++i)
    for (std::size_t k = 0; k < in.dimension; ++k) {
      long double sum = 0;
      for (std::size_t j = 0; j < in.y.count; ++j)
        sum += plan.data[i * plan.row_stride + j * plan.column_stride] *
               slope(in.ground, difference(in, i, j, k));
      gradient[i * in.dimension + k] = static_cast<double>(sum);
    }
  return gradient;
}

}  // namespace obol::transport::cpu::reference
