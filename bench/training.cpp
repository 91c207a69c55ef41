#include "bench/training.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace obol::bench {

using method::dp_sinkhorn::Options;

namespace {

constexpr std::int64_t kSteps = 1'000'000;  // more than will be taken
constexpr std::int64_t kClasses = 10;

}  // namespace

data::Dataset some_images(std::int64_t records, std::int64_t side) {
  data::Dataset data;
  data.shape = {.channels = 1, .height = side, .width = side};
  data.declared_size = records;
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(records * data.shape.pixels()));
  std::uint64_t word = 0;  // multiples of an odd number: not random, but soon made
  for (std::uint8_t& pixel : pixels) {
    word += 0x9e3779b97f4a7c15;
    pixel = static_cast<std::uint8_t>(word >> 56);
  }
  data.pixels = std::move(pixels);
  for (std::int64_t k = 0; k < records; ++k)
    data.labels.push_back(static_cast<std::int32_t>(k % kClasses));
  for (std::int64_t c = 0; c < kClasses; ++c) data.class_names.push_back(std::to_string(c));
  return data;
}

Options paper(std::int64_t records) {
  Options options{.barrier = method::Barrier::kRow,
                  .sampling_rate = 50 / static_cast<double>(records),
                  .noise_multiplier = 1.5,
                  .generated_batch = 50,
                  .steps = kSteps};
  options.generator = {.width = 64, .activation = "relu", .output = "tanh"};
  return options;
}

Options record() {
  Options options{.barrier = method::Barrier::kRecord,
                  .sampling_rate = 0.1,
                  .noise_multiplier = 1.75,
                  .generated_batch = 200,
                  .steps = kSteps,
                  .histogram_noise = 50};
  options.generator = {.width = 32, .activation = "leaky_relu", .output = "sigmoid"};
  options.method.clip_norm = 6;
  options.method.regularization = 3;
  options.method.average = 0.99;
  return options;
}

House::House(std::int64_t records)
    : ledger(privacy::Ledger::create(folder.path() / "ledger.jsonl",
                                     {.neighbours = privacy::Neighbours::kAddRemove,
                                      .records = records,
                                      .fingerprint = "none",
                                      .randomness = bits.provenance()})) {}

Training::Training(const Options& options, const Private<data::Dataset>& data,
                   const torch::Device& device)
    : house_(data.facts().declared_size),
      method_(options, data, {.door = &house_.door, .bits = house_.bits, .device = device}) {
  method_.start();
}

}  // namespace obol::bench
