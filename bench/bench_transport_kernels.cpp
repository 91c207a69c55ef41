// bench_transport_kernels: exponentials and differences per second of one core in the inner loops
// of optimal transport, for every instruction set, in millions, as JSON; beside them the plain
// loops that they replace.
#include <cmath>
#include <cstddef>
#include <functional>
#include <iostream>
#include <random>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "bench/clock.h"
#include "obol/transport/cpu/pairwise.h"
#include "obol/transport/cpu/softmin.h"

namespace {

namespace transport = obol::transport;
namespace cpu = obol::transport::cpu;

constexpr double kEpsilon = 0.1;
constexpr double kMixing = 0.5;

struct Shape {
  std::size_t n;
  std::size_t m;
  std::size_t d;  // 1 where there are no coordinates
  [[nodiscard]] std::size_t items() const { return n * m * d; }
};

template <class T>
constexpr std::string_view kType = sizeof(T) == 4 ? "float" : "double";

template <class T>
void print(std::string_view loop, std::string_view kernel, const Shape& shape,
           const std::function<void()>& work) {
  const double seconds = obol::bench::seconds_of(work, obol::bench::Clock::kProcessor);
  std::cout << fmt::format(
      R"({{"loop": "{}", "kernel": "{}", "type": "{}", "n": {}, "m": {}, "d": {}, )"
      R"("microseconds": {:.1f}, "millions_a_second": {:.0f}}})"
      "\n",
      loop, kernel, kType<T>, shape.n, shape.m, shape.d, seconds * 1e6,
      static_cast<double>(shape.items()) / seconds / 1e6);
}

template <class T>
std::vector<T> normal_values(std::size_t count, unsigned seed) {
  std::mt19937 bits(seed);
  std::normal_distribution<T> normal;
  std::vector<T> values(count);
  for (T& value : values) value = normal(bits);
  return values;
}

template <class T>
void measure_softmin(const Shape& shape) {
  const auto [n, m, d] = shape;
  std::vector<T> cost = normal_values<T>(n * m, 1);
  for (T& value : cost) value = 5 + std::abs(value);
  const std::vector<T> h = normal_values<T>(m, 2);
  const std::vector<T> a(n, T{1} / static_cast<T>(n));
  const std::vector<T> b(m, T{1} / static_cast<T>(m));
  const std::vector<T> g(m, 0);
  std::vector<T> f(n, 5);
  std::vector<T> out(n);
  std::vector<T> plan(n * m);
  const cpu::SoftminInput<T> in{cost.data(), m, m, h.data(), kEpsilon};
  const cpu::PlanInput<T> full{cost.data(), m, m, f.data(), a.data(), g.data(), b.data(), kEpsilon};
  const cpu::RowRange rows{0, n};
  for (const cpu::SoftminKernel<T>& kernel : cpu::softmin_kernels<T>()) {
    print<T>("softmin", kernel.name, shape, [&] { kernel.softmin(in, rows, out.data()); });
    print<T>("plan", kernel.name, shape, [&] { kernel.plan(full, rows, plan.data(), m); });
  }
  print<T>("softmin", "std::exp", shape, [&] {
    const T inverse = static_cast<T>(1 / kEpsilon);
    for (std::size_t i = 0; i < n; ++i) {
      T sum = 0;
      for (std::size_t j = 0; j < m; ++j) sum += std::exp(h[j] - cost[i * m + j] * inverse);
      out[i] = static_cast<T>(-kEpsilon) * std::log(sum);
    }
  });
}

template <class T>
void measure_pairwise(const Shape& shape, transport::GroundCost kind, std::string_view name) {
  const auto [n, m, d] = shape;
  const std::vector<T> x = normal_values<T>(n * d, 1);
  const std::vector<T> y = normal_values<T>(m * d, 2);
  std::vector<T> plan = normal_values<T>(n * m, 3);
  for (T& value : plan) value = std::abs(value);
  std::vector<T> cost(n * m);
  std::vector<T> grad_x(n * d);
  std::vector<T> grad_y(m * d);
  const cpu::PairwiseInput<T> in{
      {x.data(), n, d}, {y.data(), m, d}, d, {.kind = kind, .mixing = kMixing}};
  const cpu::PairwiseInput<T> exchanged{in.y, in.x, d, in.ground};
  for (const cpu::PairwiseKernel<T>& kernel : cpu::pairwise_kernels<T>()) {
    const auto write = cpu::Write::kOverwrite;
    const auto forward = [&] { kernel.cost(in, {0, n}, cost.data(), m); };
    const auto backward = [&] {
      kernel.gradient(in, {plan.data(), m, 1}, {0, n}, write, grad_x.data(), d);
    };
    print<T>(fmt::format("{} cost", name), kernel.name, shape, forward);
    print<T>(fmt::format("{} gradient", name), kernel.name, shape, backward);
    print<T>(fmt::format("{} cost and both gradients", name), kernel.name, shape, [&] {
      forward();
      backward();
      kernel.gradient(exchanged, {plan.data(), 1, m}, {0, m}, write, grad_y.data(), d);
    });
  }
}

template <class T>
void measure() {
  measure_softmin<T>({50, 52, 1});
  measure_softmin<T>({256, 1000, 1});
  measure_softmin<T>({2048, 8192, 1});  // beyond the caches
  for (const Shape& shape : {Shape{50, 52, 794}, Shape{500, 500, 784}, Shape{64, 64, 12288}}) {
    measure_pairwise<T>(shape, transport::GroundCost::kAbsolute, "absolute");
    measure_pairwise<T>(shape, transport::GroundCost::kSquared, "squared");
    measure_pairwise<T>(shape, transport::GroundCost::kMixture, "mixture");
  }
}

}  // namespace

int main() {
  measure<float>();
  measure<double>();
}
