// What was released from private data, as far as an accountant needs to know.
//
//   Event event = SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 0.8, .count = 2000};
//
// A noise multiplier is the noise's standard deviation over the sensitivity; a Laplace scale is
// likewise over the (l1) sensitivity. If one subsample gives n outputs that each carry the noise
// multiplier sigma, that is ONE event with sigma / sqrt(n): the outputs share the subsample.
#pragma once

#include <cstdint>
#include <variant>

namespace obol::privacy {

// Each record takes part with probability sampling_rate (Poisson); neighbours: add or remove one.
struct SampledGaussian {
  double sampling_rate;
  double noise_multiplier;
  std::int64_t count;
};

// Every record takes part.
struct Gaussian {
  double noise_multiplier;
  std::int64_t count;
};

struct Laplace {
  double scale;
  std::int64_t count;
};

// A batch of fixed size, drawn without replacement; neighbours: replace one. The multiplier is over
// the sensitivity under replacement.
struct FixedBatchGaussian {
  double sampling_rate;
  double noise_multiplier;
  std::int64_t count;
};

using Event = std::variant<SampledGaussian, Gaussian, Laplace, FixedBatchGaussian>;

// Throws InvalidArgument unless every parameter can be meant.
void check(const Event& event);

}  // namespace obol::privacy
