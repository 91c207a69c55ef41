#include "obol/data/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "obol/base/error.h"

namespace obol::data {

std::vector<std::int64_t> poisson_indices(std::int64_t population, double rate, RandomBits& bits) {
  if (!(rate >= 0 && rate <= 1))
    throw InvalidArgument(violation("sampling_rate", "between 0 and 1", rate));
  std::vector<std::int64_t> chosen;
  if (rate == 1) {
    chosen.resize(static_cast<std::size_t>(population));
    std::iota(chosen.begin(), chosen.end(), 0);
    return chosen;
  }
  const auto threshold = static_cast<std::uint64_t>(std::floor(std::ldexp(rate, 64)));
  std::array<std::uint64_t, 1024> words;
  for (std::int64_t start = 0; start < population;) {
    const auto count = std::min<std::int64_t>(population - start, words.size());
    bits.fill(std::span(words).first(static_cast<std::size_t>(count)));
    for (std::int64_t i = 0; i < count; ++i)
      if (words[static_cast<std::size_t>(i)] < threshold) chosen.push_back(start + i);
    start += count;
  }
  return chosen;
}

std::vector<std::vector<std::int64_t>> shard_indices(std::int64_t population, std::int64_t count,
                                                     RandomBits& bits) {
  if (count < 1 || count > population)
    throw InvalidArgument(
        violation("the number of shards",
                  fmt::format("between 1 and {}, the number of records", population), count));
  std::vector<std::int64_t> order(static_cast<std::size_t>(population));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[bits.below(i)]);
  std::vector<std::vector<std::int64_t>> shards(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < order.size(); ++i) shards[i % shards.size()].push_back(order[i]);
  for (auto& shard : shards) std::sort(shard.begin(), shard.end());
  return shards;
}

std::vector<Private<Dataset>> disjoint_shards(const Private<Dataset>& data, std::int64_t count,
                                              RandomBits& bits) {
  std::vector<Private<Dataset>> shards;
  for (const auto& indices : shard_indices(data.facts().declared_size, count, bits))
    shards.push_back(data.map([&](const Dataset& all) {
      // A batch holds fewer records than it declares.
      const auto there = std::lower_bound(indices.begin(), indices.end(), all.count());
      Dataset shard = select(all, {indices.begin(), there});
      shard.declared_size = static_cast<std::int64_t>(indices.size());
      return shard;
    }));
  return shards;
}

}  // namespace obol::data
