#include "obol/privacy/noise.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "obol/base/error.h"
#include "obol/privacy/noise_exact.h"
#include "obol/privacy/noise_transform.h"

namespace obol::privacy {
namespace {

constexpr std::size_t kBlock = 1024;  // words at once: they and their draws stay in the first cache
// How far below the scale the spacing is. The sensitivity grows by sqrt(d) spacings for Gaussian
// noise, where 24 bits leave a GPU's numbers of 106 bits enough to round with, and by d spacings
// for Laplace noise, which therefore has more.
constexpr int kGaussianBits = 24;
constexpr int kLaplaceBits = 30;
constexpr double kMostSpacings = 0x1p51;

// Memory for one block, of which what was used is wiped at the end.
template <class T>
class WipedBlock {
 public:
  WipedBlock() = default;  // not cleared: every item is written before it is read
  ~WipedBlock() { wipe(std::as_writable_bytes(std::span(items_).first(used_))); }
  WipedBlock(const WipedBlock&) = delete;
  WipedBlock& operator=(const WipedBlock&) = delete;
  std::span<T> first(std::size_t count) {
    used_ = std::max(used_, count);
    return std::span(items_).first(count);
  }

 private:
  std::array<T, kBlock> items_;
  std::size_t used_ = 0;
};

double finite_and_positive(double value, const char* name) {
  if (!std::isfinite(value) || value <= 0)
    throw InvalidArgument(violation(name, "finite and positive", value));
  return value;
}

// `magnified` is the rounding's share of the sensitivity in spacings: sqrt(d) or d.
NoiseGrid grid_for(double sensitivity, double multiplier, double magnified, int bits) {
  const double scale = sensitivity * multiplier;
  // Far from where the spacing, or the noise in it, could leave the range of a double.
  if (!(scale >= 1e-200 && scale <= 1e200))
    throw InvalidArgument(violation("the scale of noise", "between 1e-200 and 1e200", scale));
  const double spacing = std::ldexp(1.0, std::ilogb(scale) - bits);
  // Rounded up by more than the errors of these four operations.
  const double widened = multiplier * (sensitivity + spacing * magnified) * (1 + 0x1p-50);
  if (!(widened <= 2 * scale))
    throw InvalidArgument(violation("the rounding of the values to the noise's grid",
                                    "small beside their sensitivity (fewer values, or less noise)",
                                    fmt::format("{} of it", spacing * magnified / sensitivity)));
  return {.spacing = spacing, .scale = widened, .largest = kMostSpacings * spacing};
}

// A value that the grid does not take counts as the nearest that it does, one that is not a number
// as zero. Refusing them would tell that they occur; this moves neighbours no further apart.
void fit(std::span<double> values, const NoiseGrid& grid) {
  for (double& value : values)
    value = std::isnan(value) ? 0 : std::clamp(value, -grid.largest, grid.largest);
}

struct GaussianDraws {
  static std::size_t words_for(std::size_t count) { return count + count % 2; }
  static void transform(std::span<const std::uint64_t> words, std::span<double> draws) {
    fastest_noise_kernel().gaussian(words, draws);
  }
  static bool round(std::span<const std::uint64_t> words, std::span<const double> draws,
                    double steps_per_unit, std::span<double> steps) {
    return fastest_noise_kernel().round_gaussian(words, draws, steps_per_unit, steps);
  }
  static void settle(RandomBits& bits, std::span<const std::uint64_t> words,
                     std::span<const double> draws, double steps_per_unit,
                     std::span<double> steps) {
    for (std::size_t i = 0; i < words.size(); i += 2) {
      if (!radius_word_in_doubt(words[i]) && !gaussian_in_doubt(draws[i] * steps_per_unit) &&
          !gaussian_in_doubt(draws[i + 1] * steps_per_unit))
        continue;
      const std::uint64_t radius_low = bits();
      const std::uint64_t angle_low = bits();
      WideWord radius = {words[i], radius_low};
      if (radius_word_in_doubt(words[i])) radius = lengthen_tail(radius, bits);
      const auto pair = exact_gaussian(radius, {words[i + 1], angle_low});
      steps[i] = nearest_step(pair[0], steps_per_unit);
      steps[i + 1] = nearest_step(pair[1], steps_per_unit);
    }
  }
};

struct LaplaceDraws {
  static std::size_t words_for(std::size_t count) { return count; }
  static void transform(std::span<const std::uint64_t> words, std::span<double> draws) {
    fastest_noise_kernel().laplace(words, draws);
  }
  static bool round(std::span<const std::uint64_t> words, std::span<const double> draws,
                    double steps_per_unit, std::span<double> steps) {
    return fastest_noise_kernel().round_laplace(words, draws, steps_per_unit, steps);
  }
  static void settle(RandomBits& bits, std::span<const std::uint64_t> words,
                     std::span<const double> draws, double steps_per_unit,
                     std::span<double> steps) {
    for (std::size_t i = 0; i < words.size(); ++i)
      if (exponent_word_in_doubt(words[i]) || laplace_in_doubt(draws[i] * steps_per_unit))
        steps[i] = nearest_step(settled(bits, words[i]), steps_per_unit);
  }

 private:
  // A word is a sign and the exponent's first 63 bits.
  static Quad settled(RandomBits& bits, std::uint64_t word) {
    WideWord wide = {word, bits()};
    if (!exponent_word_in_doubt(word)) return exact_laplace(wide);
    wide.third = bits();
    if (word > 1) return exact_laplace(wide);
    return exact_laplace_tail(lengthen_tail({wide.low, wide.third}, bits), word == 1);
  }
};

template <class Draws>
void fill_blocks(RandomBits& bits, std::span<double> out) {
  WipedBlock<std::uint64_t> words;
  WipedBlock<double> draws;
  while (!out.empty()) {
    const std::size_t count = std::min(out.size(), kBlock);
    const auto used = words.first(Draws::words_for(count));
    bits.fill(used);
    if (used.size() == count) {
      Draws::transform(used, out.first(count));
    } else {
      Draws::transform(used, draws.first(used.size()));
      std::copy_n(draws.first(used.size()).begin(), count, out.begin());
    }
    out = out.subspan(count);
  }
}

template <class Draws>
void add_blocks(RandomBits& bits, std::span<double> values, const NoiseGrid& grid) {
  const double steps_per_unit = grid.scale / grid.spacing;  // by a power of two: exact
  WipedBlock<std::uint64_t> words;
  WipedBlock<double> draws;
  WipedBlock<double> steps;
  while (!values.empty()) {
    const std::size_t count = std::min(values.size(), kBlock);
    const std::size_t needed = Draws::words_for(count);
    fit(values.first(count), grid);
    bits.fill(words.first(needed));
    Draws::transform(words.first(needed), draws.first(needed));
    if (!Draws::round(words.first(needed), draws.first(needed), steps_per_unit,
                      steps.first(needed)))
      Draws::settle(bits, words.first(needed), draws.first(needed), steps_per_unit,
                    steps.first(needed));
    fastest_noise_kernel().add_steps(steps.first(count), grid.spacing, values.first(count));
    values = values.subspan(count);
  }
}

template <class Draws>
void add(RandomBits& bits, std::span<double> values, const NoiseGrid& grid) {
  add_blocks<Draws>(bits, values, grid);
}

template <class Draws>
void add(RandomBits& bits, std::span<float> values, const NoiseGrid& grid) {
  WipedBlock<double> wide;
  while (!values.empty()) {
    const std::size_t count = std::min(values.size(), kBlock);
    const std::span<double> block = wide.first(count);
    std::copy_n(values.begin(), count, block.begin());
    add_blocks<Draws>(bits, block, grid);
    std::transform(block.begin(), block.end(), values.begin(),
                   [](double value) { return static_cast<float>(value); });
    values = values.subspan(count);
  }
}

template <class Noise>
NoiseGrid grid_of_release(const Noise& noise, std::size_t count) {
  if (noise.dimension != 0 && noise.dimension < count)
    throw InvalidArgument(violation("the dimension of a release",
                                    fmt::format("at least that of its part, {}", count),
                                    noise.dimension));
  return grid_of(noise, std::max(noise.dimension, count));
}

}  // namespace

NoiseGrid grid_of(const GaussianNoise& noise, std::size_t dimension) {
  return grid_for(finite_and_positive(noise.sensitivity, "the sensitivity"),
                  finite_and_positive(noise.noise_multiplier, "noise_multiplier"),
                  std::sqrt(static_cast<double>(dimension)), kGaussianBits);
}

NoiseGrid grid_of(const LaplaceNoise& noise, std::size_t dimension) {
  return grid_for(finite_and_positive(noise.sensitivity, "the sensitivity"),
                  finite_and_positive(noise.scale, "the scale of Laplace noise"),
                  static_cast<double>(dimension), kLaplaceBits);
}

void add_gaussian(RandomBits& bits, std::span<double> values, const GaussianNoise& noise) {
  add<GaussianDraws>(bits, values, grid_of_release(noise, values.size()));
}

void add_gaussian(RandomBits& bits, std::span<float> values, const GaussianNoise& noise) {
  add<GaussianDraws>(bits, values, grid_of_release(noise, values.size()));
}

void add_laplace(RandomBits& bits, std::span<double> values, const LaplaceNoise& noise) {
  add<LaplaceDraws>(bits, values, grid_of_release(noise, values.size()));
}

void add_laplace(RandomBits& bits, std::span<float> values, const LaplaceNoise& noise) {
  add<LaplaceDraws>(bits, values, grid_of_release(noise, values.size()));
}

void fill_gaussian(RandomBits& bits, std::span<double> draws) {
  fill_blocks<GaussianDraws>(bits, draws);
}

void fill_laplace(RandomBits& bits, std::span<double> draws) {
  fill_blocks<LaplaceDraws>(bits, draws);
}

}  // namespace obol::privacy
