// What was released from private data, as far as an accountant needs to know.
//
//   Event event = SampledGaussian{.sampling_rate = 0.01, .noise_multiplier = 0.8, .count = 2000};
//
// A noise multiplier is the noise's standard deviation over the (l2) sensitivity; a Laplace scale
// is likewise over the (l1) sensitivity. If one subsample gives n outputs that each carry the noise
// multiplier sigma, that is ONE event with joint(sigma, n): the outputs share the subsample.
// Why each event costs what it costs: docs/guarantees/.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace obol::privacy {

// Each record takes part with probability sampling_rate, on its own (Poisson).
struct SampledGaussian {
  double sampling_rate;
  double noise_multiplier;
  std::int64_t count;
};

struct SampledLaplace {
  double sampling_rate;
  double scale;
  std::int64_t count;
};

// Every record takes part. The sensitivity is that for the neighbours of the ledger.
struct Gaussian {
  double noise_multiplier;
  std::int64_t count;
};

struct Laplace {
  double scale;
  std::int64_t count;
};

// A batch of fixed size, drawn without replacement.
struct FixedBatchGaussian {
  double sampling_rate;
  double noise_multiplier;
  std::int64_t count;
};

// One of 1/sampling_rate disjoint shards, drawn uniformly at each step, answers for all. The
// multiplier is over the largest distance of ANY two answers, of different shards as well.
struct ShardGaussian {
  double sampling_rate;
  double noise_multiplier;
  std::int64_t count;
};

// Each person adds the noise before anything leaves them; one event covers everybody.
struct LocalGaussian {
  double noise_multiplier;
  std::int64_t count;
};

struct LocalLaplace {
  double scale;
  std::int64_t count;
};

// Each person gives one of `classes` answers: the true one e^epsilon times as likely as any other.
struct LocalRandomizedResponse {
  double epsilon;
  std::int64_t classes;
  std::int64_t count;
};

using Event = std::variant<SampledGaussian, SampledLaplace, Gaussian, Laplace, FixedBatchGaussian,
                           ShardGaussian, LocalGaussian, LocalLaplace, LocalRandomizedResponse>;

// Which two data sets an adversary cannot tell apart.
enum class Neighbours {
  kAddRemove,   // one record more or less (replaced by an empty one; their number is public)
  kReplaceOne,  // one record has another value
  kPerson,      // any two inputs of one person
  kAsStated,    // whatever the sensitivity was stated for: Gaussian and Laplace
};

Neighbours neighbours_of(const Event& event);

// "add-remove", "replace-one", "person", "as-stated", and back; an unknown word is InvalidArgument.
std::string_view name_of(Neighbours neighbours);
Neighbours neighbours_from(std::string_view name);

// The neighbours that hold for both; throws UnsupportedEvent where they differ, since a sum over
// two notions of "one record" means nothing.
Neighbours common_neighbours(Neighbours first, Neighbours second);

// "SampledGaussian", ...: the word in ledgers and certificates.
std::string_view name_of(const Event& event);

// "2,000 x SampledGaussian, sampling rate 0.01, noise multiplier 0.8"
std::string describe(const Event& event);

std::int64_t count_of(const Event& event);
Event with_count(Event event, std::int64_t count);

// The noise multiplier that `outputs` outputs of one subsample have together, each of which carries
// noise of multiplier `noise_multiplier`: noise_multiplier / sqrt(outputs), since a record may move
// every one of them.
double joint(double noise_multiplier, double outputs);
// The event with another noise multiplier, or scale. InvalidArgument where it has neither.
Event with_noise(Event event, double noise_multiplier);

// The same release whatever its count.
bool same_mechanism(const Event& first, const Event& second);

// Throws InvalidArgument unless every parameter can be meant.
void check(const Event& event);

}  // namespace obol::privacy
