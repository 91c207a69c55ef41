#include "obol/method/dp_merf/features.h"

#include <algorithm>
#include <cmath>

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Parallel.h>

namespace obol::method::dp_merf {
namespace {

using torch::Tensor;

constexpr std::uint64_t kPublicSeed = 20210413;
constexpr int kPixelBits = 16;
// Of a product: the largest sum that a double holds to the last bit.
constexpr int kSumBits = 52;

int bits_for(double number) { return std::max(0, static_cast<int>(std::ceil(std::log2(number)))); }

Tensor on_grid(const Tensor& values, int bits) {
  const double per_unit = std::ldexp(1.0, bits);
  return values.to(torch::kDouble).mul(per_unit).round_().div_(per_unit);
}

// Pixels have kPixelBits, and a sum has `pixels` terms: the rest of the bits are the frequencies'.
Tensor draw_frequencies(std::int64_t pixels, const FourierOptions& options) {
  const auto generator = at::detail::createCPUGenerator(kPublicSeed);
  const Tensor drawn =
      torch::randn({pixels, options.frequencies}, generator, torch::TensorOptions(torch::kDouble))
          .mul_(options.frequency);
  const int bits = kSumBits - kPixelBits - bits_for(static_cast<double>(pixels));
  const int above = static_cast<int>(std::ceil(std::log2(drawn.abs().max().item<double>())));
  return on_grid(drawn, bits - above).to(options.device);
}

// In place, [m, 2 k], of which the first k of each row are phases: their cosines and sines. A loop
// of our own: a vectorised one may treat the last numbers of a tensor in another way.
void cosines_and_sines(Tensor& phases, double scale) {
  const std::int64_t half = phases.size(1) / 2;
  auto* all = phases.data_ptr<double>();
  constexpr std::int64_t kWorthAThread = 4;
  at::parallel_for(0, phases.size(0), kWorthAThread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      double* first = all + row * 2 * half;
      for (std::int64_t k = 0; k < half; ++k) {
        const double phase = first[k];
        first[k] = std::cos(phase) * scale;
        first[half + k] = std::sin(phase) * scale;
      }
    }
  });
}

}  // namespace

FourierFeatures::FourierFeatures(std::int64_t pixels, const FourierOptions& options)
    : frequencies_(draw_frequencies(pixels, options)),
      single_(frequencies_.to(torch::kFloat)),
      scale_(1 / std::sqrt(static_cast<double>(options.frequencies))) {}

Tensor FourierFeatures::operator()(const Tensor& images) const {
  const Tensor phases = torch::mm(images, single_);
  return torch::cat({phases.cos(), phases.sin()}, 1) * scale_;
}

Tensor FourierFeatures::of_records(const Tensor& images) const {
  const torch::NoGradGuard no_grad;
  const Tensor pixels = on_grid(images.clamp(-1, 1), kPixelBits);
  const Tensor phases = torch::mm(pixels, frequencies_);
  if (!phases.is_cpu()) return torch::cat({phases.cos(), phases.sin()}, 1) * scale_;
  Tensor both = torch::empty({phases.size(0), dimension()}, phases.options());
  both.narrow(1, 0, phases.size(1)).copy_(phases);
  cosines_and_sines(both, scale_);
  return both;
}

}  // namespace obol::method::dp_merf
