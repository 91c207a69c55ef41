// bench_noise: draws per second of one core, for every kind of noise, in millions, as JSON; beside
// them the standard library's loop over std::normal_distribution, which is what they would replace.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <iostream>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "bench/clock.h"
#include "obol/base/random.h"
#include "obol/privacy/noise.h"
#include "obol/privacy/noise_transform.h"

namespace {

using obol::RandomBits;
using Values = std::vector<double>;

constexpr std::size_t kCount = std::size_t{1}
                               << 16;  // 512 KB: a layer's worth, in the second cache

double millions_a_second(const std::function<void(Values&)>& work) {
  Values values(kCount);
  const double seconds =
      obol::bench::seconds_of([&] { work(values); }, obol::bench::Clock::kProcessor);
  return static_cast<double>(kCount) / seconds / 1e6;
}

void print(const char* draw, RandomBits& bits, const std::function<void(Values&)>& work) {
  std::cout << fmt::format(R"({{"draw": "{}", "bits": "{}", "millions_a_second": {:.1f}}})"
                           "\n",
                           draw, bits.is_private() ? "secure" : "seeded", millions_a_second(work));
}

void measure(RandomBits& bits) {
  namespace privacy = obol::privacy;
  print("fill_gaussian", bits, [&](Values& values) { privacy::fill_gaussian(bits, values); });
  print("fill_laplace", bits, [&](Values& values) { privacy::fill_laplace(bits, values); });
  // Afresh each time: what a mechanism adds to is bounded.
  print("add_gaussian", bits, [&](Values& values) {
    std::fill(values.begin(), values.end(), 0.25);
    privacy::add_gaussian(bits, values, {.sensitivity = 1, .noise_multiplier = 0.8});
  });
  print("add_laplace", bits, [&](Values& values) {
    std::fill(values.begin(), values.end(), 0.25);
    privacy::add_laplace(bits, values, {.sensitivity = 1, .scale = 2});
  });
  print("std::normal_distribution", bits, [&](Values& values) {
    std::normal_distribution<double> normal;
    for (double& value : values) value = normal(bits);
  });
}

}  // namespace

int main() {
  std::cout << fmt::format(R"({{"instructions": "{}"}})"
                           "\n",
                           obol::privacy::fastest_noise_kernel().name);
  obol::SeededBits seeded(1);
  measure(seeded);
  obol::SecureBits secure;
  measure(secure);
}
