#include "obol/features/frequencies.h"

#include <cmath>

#include <ATen/CPUGeneratorImpl.h>
#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::features {
namespace {

using torch::Tensor;

constexpr std::uint64_t kPublicSeed = 20210413;
// Of a product: the largest sum that a double holds to the last bit.
constexpr int kSumBits = 52;

void check(std::int64_t inputs, std::int64_t count, const std::vector<double>& frequencies) {
  const auto shares = static_cast<std::int64_t>(frequencies.size());
  if (inputs < 1) throw InvalidArgument(violation("The number of inputs", "positive", inputs));
  if (shares < 1 || count < 1 || count % shares != 0)
    throw InvalidArgument(violation("The number of random frequencies",
                                    fmt::format("a positive multiple of the {} bandwidths", shares),
                                    count));
  for (const double frequency : frequencies)
    if (!std::isfinite(frequency) || frequency <= 0)
      throw InvalidArgument(violation("frequency", "finite and positive", frequency));
}

}  // namespace

int bits_above(double number) { return static_cast<int>(std::ceil(std::log2(number))); }

Tensor on_grid(const Tensor& values, int bits) {
  const double per_unit = std::ldexp(1.0, bits);
  return values.to(torch::kDouble).mul(per_unit).round_().div_(per_unit);
}

// Inputs have kInputBits, and a sum has `inputs` terms: the rest of the bits are the frequencies'.
Tensor draw_frequencies(std::int64_t inputs, std::int64_t count,
                        const std::vector<double>& frequencies) {
  check(inputs, count, frequencies);
  const auto generator = at::detail::createCPUGenerator(kPublicSeed);
  const auto shares = static_cast<std::int64_t>(frequencies.size());
  const Tensor each = torch::tensor(frequencies, torch::kDouble).repeat_interleave(count / shares);
  const Tensor drawn =
      torch::randn({inputs, count}, generator, torch::TensorOptions(torch::kDouble)).mul_(each);
  const int bits = kSumBits - kInputBits - bits_above(static_cast<double>(inputs));
  const int above = bits_above(drawn.abs().max().item<double>());
  return on_grid(drawn, bits - above);
}

}  // namespace obol::features
